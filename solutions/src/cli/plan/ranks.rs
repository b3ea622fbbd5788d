//! `canopy plan --ranks`: what each rank keeps and sends, with and without ZeRO, and which of these to use.

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::{
    cli::table::Table,
    shard::{Stage, bytes_per_rank, numbers_sent},
    train::memory::StepSize,
};

/// Larger plans would not fit into 64 bits; no machine is as large.
const MOST_PARAMETERS: f64 = 1e15;
const MOST_RANKS: u64 = 1_000_000;
pub const MOST_GIB: f64 = 1e9;

/// Options of a plan for several ranks.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Plan for N ranks, each with a GPU (or memory) of its own: memory of a rank with data parallelism and with ZeRO
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with_all = ["measure", "search"], help_heading = "Ranks")]
    ranks: u64,
    /// Parameters of another model than canopy's, such as 7e9, with the bytes of --format and --optimizer; its activations
    /// are given by --activations
    #[arg(long, value_name = "N", requires = "ranks", help_heading = "Ranks")]
    parameters: Option<f64>,
    /// Activations of a rank's share of a batch, with --parameters, GiB
    #[arg(long, value_name = "GIB", requires = "parameters", help_heading = "Ranks")]
    activations: Option<f64>,
}

/// A stage for each rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    stage: Stage,
    parameters: u64,
    gradients: u64,
    optimizer: u64,
    total: u64,
    fits: bool,
    /// Bytes that a rank sends in a step.
    sent: u64,
}

/// The plan for all stages.
#[derive(Debug, Serialize)]
pub struct Plan {
    ranks: u64,
    activations: u64,
    budget: u64,
    stages: Vec<Row>,
    /// What to use, and why.
    advice: String,
}

/// Checks that an option's value is in range, which NaN is not.
pub fn within(option: &str, value: f64, least: f64, most: f64) -> Result<()> {
    ensure!(
        (least..=most).contains(&value),
        "{option} is {value:e}: expected a number from {least} up to {most:e}"
    );
    Ok(())
}

impl Args {
    /// Whether the plan is for another model than canopy's.
    pub fn is_other_model(&self) -> bool {
        self.parameters.is_some()
    }

    /// Whether a plan for ranks was asked for.
    pub fn wanted(&self) -> bool {
        self.ranks > 1 || self.is_other_model()
    }

    /// The plan for a rank with `budget` bytes, whose share of a batch takes `activations`, in the backward pass included; for
    /// the model of `step`, unless another one is given.
    pub fn plan(&self, step: &StepSize, activations: u64, budget: u64) -> Result<Plan> {
        within("--ranks", self.ranks as f64, 1.0, MOST_RANKS as f64)?;
        let (mut count, mut activations) = (step.parameters, activations);
        if let Some(parameters) = self.parameters {
            let gib = self.activations.unwrap_or(0.0);
            within("--parameters", parameters, 1.0, MOST_PARAMETERS)?;
            within("--activations", gib, 0.0, MOST_GIB)?;
            count = parameters as u64;
            activations = (gib * f64::from(1 << 30)) as u64;
        }
        let row = |stage| {
            let [parameters, gradients, optimizer] = bytes_per_rank(count, step.each, stage, self.ranks);
            let total = parameters + gradients + optimizer + activations;
            Row {
                stage,
                parameters,
                gradients,
                optimizer,
                total,
                fits: total <= budget,
                // Gradients and gathered weights travel in the format in which they are stored.
                sent: u64::from(step.each.gradient) * numbers_sent(count, stage, self.ranks),
            }
        };
        let mut plan = Plan {
            ranks: self.ranks,
            activations,
            budget,
            stages: Stage::ALL.map(row).to_vec(),
            advice: String::new(),
        };
        plan.advice = plan.advice(count.saturating_mul(u64::from(step.each.total())));
        Ok(plan)
    }
}

impl Plan {
    /// The first stage that fits: each further one only adds messages or code. `whole`: bytes of the whole model's parameters,
    /// gradients and optimizer.
    fn advice(&self, whole: u64) -> String {
        let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
        let &Self {
            ranks,
            activations,
            budget,
            ..
        } = self;
        let Some(row) = self.stages.iter().find(|row| row.fits) else {
            if activations >= budget {
                return format!(
                    "The activations alone, {}, do not fit in {}: take fewer clouds\nat a time (accumulation), or split the layers.",
                    gib(activations),
                    gib(budget)
                );
            }
            return format!(
                "Nothing fits on {ranks} ranks. ZeRO 3 needs at least {} ranks of this memory.\nOr keep less: fewer \
                 activations, offload, or a model split over ranks.",
                whole.div_ceil(budget - activations)
            );
        };
        let costs = match row.stage {
            Stage::Zero0 => {
                return "Use data parallelism: a rank has room for the whole model, and nothing sends less."
                    .into();
            }
            Stage::Zero3 => {
                "It sends half as much again, because parameters are gathered for the forward and the backward pass"
            }
            _ => "It sends as much as data parallelism",
        };
        format!(
            "Use {}: {} of {} a rank, where data parallelism needs {}.\n{costs}.",
            row.stage,
            gib(row.total),
            gib(budget),
            gib(self.stages[0].total)
        )
    }
}

/// Prints the plan.
pub fn print(plan: &Plan) -> Result<()> {
    let large = plan.stages[0].total >= 100 << 30;
    let (unit, name) = if large { (30, "GiB") } else { (20, "MiB") };
    let size = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << unit));
    say!("\n{name} of each of {} ranks", plan.ranks);
    let columns = |row: &Row| {
        [
            ("parameters", row.parameters),
            ("gradients", row.gradients),
            ("optimizer", row.optimizer),
            ("activations", plan.activations),
            ("total", row.total),
            ("sent in a step", row.sent),
        ]
    };
    let titles = columns(&plan.stages[0]).map(|(title, _)| title);
    let mut table = Table::new([&[""], &titles[..], &["fits"]].concat());
    for row in &plan.stages {
        let fits = if row.fits { "yes" } else { "no" }.to_owned();
        let cells = columns(row).map(|(_, bytes)| size(bytes)).into_iter();
        table.named(&row.stage.to_string(), cells.chain([fits]));
    }
    table.print()?;
    say!("\nA rank has {} {name}.", size(plan.budget));
    say!("{}", plan.advice);
    say!(
        "`canopy train --ranks N` trains with data parallelism, and with `--zero 1`, `2` or `3` as above (3: on the CPU)."
    );
    Ok(())
}

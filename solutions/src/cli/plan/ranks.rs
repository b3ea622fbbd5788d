//! `canopy plan --ranks`: what each rank keeps and sends, with and without ZeRO, and which of these to use.

use anyhow::Result;
use serde::Serialize;

use crate::{
    cli::{options::number, table::Table},
    shard::{Stage, bytes_per_rank, numbers_sent},
    train::memory::StepSize,
};

/// Options of a plan for several ranks. With larger numbers a plan would not fit into 64 bits; no machine is as large.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Plan for N ranks, each with a GPU (or memory) of its own: memory of a rank with data parallelism and with ZeRO
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          conflicts_with_all = ["measure", "search"], help_heading = "Ranks")]
    ranks: u64,
    /// Parameters of another model than canopy's, such as 7e9, with the bytes of --format and --optimizer; its activations
    /// are given by --activations
    #[arg(long, value_name = "N", value_parser = number(1.0, 1e15), requires = "ranks", help_heading = "Ranks")]
    parameters: Option<f64>,
    /// Activations of a rank's share of a batch, with --parameters, GiB
    #[arg(long, value_name = "GIB", value_parser = number(0.0, 1e9), requires = "parameters", help_heading = "Ranks")]
    activations: Option<f64>,
}

/// A stage for each rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    stage: Stage,
    parameters: u64,
    gradients: u64,
    optimizer: u64,
    activations: u64,
    total: u64,
    /// Bytes that a rank sends in a step.
    sent: u64,
    fits: bool,
}

/// The plan for all stages.
#[derive(Debug, Serialize)]
pub struct Plan {
    ranks: u64,
    budget: u64,
    stages: Vec<Row>,
    /// What to use, and why.
    advice: String,
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
    pub fn plan(&self, step: &StepSize, activations: u64, budget: u64) -> Plan {
        let (count, activations) = match self.parameters {
            None => (step.parameters, activations),
            Some(parameters) => (parameters as u64, gib(self.activations.unwrap_or(0.0))),
        };
        let row = |stage| {
            let [parameters, gradients, optimizer] = bytes_per_rank(count, step.each, stage, self.ranks);
            let total = parameters + gradients + optimizer + activations;
            Row {
                stage,
                parameters,
                gradients,
                optimizer,
                activations,
                total,
                // Gradients and gathered weights travel in the format in which they are stored.
                sent: u64::from(step.each.gradient) * numbers_sent(count, stage, self.ranks),
                fits: total <= budget,
            }
        };
        let stages = Stage::ALL.map(row).to_vec();
        let whole = count.saturating_mul(u64::from(step.each.total()));
        Plan {
            ranks: self.ranks,
            budget,
            advice: advice(&stages, self.ranks, budget, whole),
            stages,
        }
    }
}

/// Bytes of as many GiB.
pub fn gib(count: f64) -> u64 {
    (count * f64::from(1 << 30)) as u64
}

/// The first stage that fits: each further one only adds messages or code. `whole`: bytes of the whole model's parameters,
/// gradients and optimizer.
fn advice(stages: &[Row], ranks: u64, budget: u64, whole: u64) -> String {
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    let activations = stages[0].activations;
    match stages.iter().find(|row| row.fits) {
        Some(row) if row.stage == Stage::Zero0 => {
            "Use data parallelism: a rank has room for the whole model, and nothing sends less.".into()
        }
        Some(row) => format!(
            "Use {}: {} of {} a rank, where data parallelism needs {}.",
            row.stage,
            gib(row.total),
            gib(budget),
            gib(stages[0].total)
        ),
        None if activations >= budget => format!(
            "The activations alone, {}, do not fit in {}: take fewer clouds\nat a time (accumulation), or split the layers.",
            gib(activations),
            gib(budget)
        ),
        None => format!(
            "Nothing fits on {ranks} ranks. ZeRO 3 needs at least {} ranks of this memory.\nOr keep less: fewer activations, \
             offload, or a model split over ranks.",
            whole.div_ceil(budget - activations)
        ),
    }
}

/// Prints the plan.
pub fn print(plan: &Plan) -> Result<()> {
    let large = plan.stages[0].total >= 100 << 30;
    let (unit, name) = if large { (30, "GiB") } else { (20, "MiB") };
    let size = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << unit));
    say!("\n{name} of each of {} ranks", plan.ranks);
    let titles = "parameters,gradients,optimizer,activations,total,sent in a step,fits".split(',');
    let mut table = Table::new("", titles);
    for row in &plan.stages {
        let fits = if row.fits { "yes" } else { "no" }.to_owned();
        let bytes = [
            row.parameters,
            row.gradients,
            row.optimizer,
            row.activations,
            row.total,
            row.sent,
        ];
        table.row(&row.stage.to_string(), bytes.map(size).into_iter().chain([fits]));
    }
    table.print()?;
    say!("\nA rank has {} {name}.\n{}", size(plan.budget), plan.advice);
    Ok(())
}

//! `canopy plan --ranks`: what each rank keeps and sends, with and without ZeRO, and which of these to use.

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::{
    cli::table::Table,
    precision::BytesPerParameter,
    shard::{Stage, bytes_per_rank, numbers_sent},
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

/// What one rank computes.
pub struct Work {
    pub parameters: u64,
    pub each: BytesPerParameter,
    /// Bytes of the activations and of the backward pass of its share of a batch.
    pub activations: u64,
    /// Its memory, bytes.
    pub budget: u64,
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

    /// The plan for `work`, which is that of canopy's model unless another one is given.
    pub fn plan(&self, mut work: Work) -> Result<Plan> {
        within("--ranks", self.ranks as f64, 1.0, MOST_RANKS as f64)?;
        if let Some(parameters) = self.parameters {
            let gib = self.activations.unwrap_or(0.0);
            within("--parameters", parameters, 1.0, MOST_PARAMETERS)?;
            within("--activations", gib, 0.0, MOST_GIB)?;
            work.parameters = parameters as u64;
            work.activations = (gib * f64::from(1 << 30)) as u64;
        }
        let stages = Stage::ALL.map(|stage| self.row(&work, stage)).to_vec();
        Ok(Plan {
            ranks: self.ranks,
            activations: work.activations,
            budget: work.budget,
            advice: advice(self.ranks, &work, &stages),
            stages,
        })
    }

    fn row(&self, work: &Work, stage: Stage) -> Row {
        let [parameters, gradients, optimizer] =
            bytes_per_rank(work.parameters, work.each, stage, self.ranks);
        let total = parameters + gradients + optimizer + work.activations;
        Row {
            stage,
            parameters,
            gradients,
            optimizer,
            total,
            fits: total <= work.budget,
            // Gradients and gathered weights travel in the format in which they are stored.
            sent: u64::from(work.each.gradient) * numbers_sent(work.parameters, stage, self.ranks),
        }
    }
}

/// The first stage that fits: each further one only adds messages or code.
fn advice(ranks: u64, work: &Work, stages: &[Row]) -> String {
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    match stages.iter().find(|row| row.fits) {
        Some(row) if row.stage == Stage::Zero0 => {
            "Use data parallelism: a rank has room for the whole model, and nothing sends less.".into()
        }
        Some(row) => {
            let costs = match row.stage {
                Stage::Zero3 => {
                    "It sends half as much again, because parameters are gathered for the forward and the \
                                 backward pass"
                }
                _ => "It sends as much as data parallelism",
            };
            format!(
                "Use {}: {} of {} a rank, where data parallelism needs {}.\n{costs}.",
                row.stage,
                gib(row.total),
                gib(work.budget),
                gib(stages[0].total)
            )
        }
        None if work.activations >= work.budget => format!(
            "The activations alone, {}, do not fit in {}: take fewer clouds\nat a time (accumulation), or split the layers.",
            gib(work.activations),
            gib(work.budget)
        ),
        None => {
            let free = work.budget - work.activations;
            let all = work.parameters.saturating_mul(u64::from(work.each.total()));
            format!(
                "Nothing fits on {ranks} ranks. ZeRO 3 needs at least {} ranks of this memory.\nOr keep less: fewer \
                 activations, offload, or a model split over ranks.",
                all.div_ceil(free.max(1))
            )
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::{BF16, bytes_per_parameter};

    fn plan(ranks: u64, parameters: f64, activations: f64) -> Result<Plan> {
        let args = Args {
            ranks,
            parameters: Some(parameters),
            activations: Some(activations),
        };
        args.plan(Work {
            parameters: 0,
            each: bytes_per_parameter(BF16, 2),
            activations: 0,
            budget: 80 << 30,
        })
    }

    #[test]
    fn the_first_stage_that_fits_is_advised() {
        for (ranks, parameters, activations, part) in [
            (8, 1e9, 2.0, "data parallelism:"),
            (8, 7e9, 2.0, "ZeRO 1"),
            (8, 20e9, 2.0, "ZeRO 2"),
            (8, 30e9, 2.0, "ZeRO 3"),
            // 16 bytes of each of 100 billion parameters, over 78 GiB a rank, are 20 ranks.
            (8, 100e9, 2.0, "at least 20 ranks"),
            (8, 1e9, 90.0, "activations alone"),
        ] {
            let plan = plan(ranks, parameters, activations).unwrap();
            assert!(plan.advice.contains(part), "{}", plan.advice);
        }
        let stages = plan(2, 1e9, 2.0).unwrap().stages;
        assert_eq!(
            stages[3].sent * 2,
            stages[0].sent * 3,
            "ZeRO 3 sends half as much again"
        );
    }

    #[test]
    fn the_largest_plan_fits_into_64_bits_and_a_larger_one_is_refused() {
        let largest = plan(MOST_RANKS, MOST_PARAMETERS, MOST_GIB).unwrap();
        assert!(largest.stages.iter().all(|row| row.total > 1 << 59 && !row.fits));
        for (ranks, parameters, activations) in [
            (0, 1e9, 0.0),
            (MOST_RANKS + 1, 1e9, 0.0),
            (2, -1.0, 0.0),
            (2, f64::NAN, 0.0),
            (2, 1e30, 0.0),
            (2, 1e9, 1e18),
        ] {
            assert!(
                plan(ranks, parameters, activations).is_err(),
                "{ranks} {parameters} {activations}"
            );
        }
    }
}

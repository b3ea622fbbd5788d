//! `canopy plan --ranks`: what each rank keeps and sends, with and without ZeRO, and which of these to use.

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::{
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

impl Args {
    /// Whether the plan is for another model than canopy's.
    pub fn is_other_model(&self) -> bool {
        self.parameters.is_some()
    }

    /// Whether a plan for ranks was asked for.
    pub fn wanted(&self) -> bool {
        self.ranks > 1 || self.parameters.is_some()
    }

    /// What a rank computes: `own`, unless another model is given.
    ///
    /// # Errors
    /// Returns an error if an option is out of range.
    pub fn work(&self, own: Work) -> Result<Work> {
        ensure!(
            (1..=MOST_RANKS).contains(&self.ranks),
            "--ranks is {}: expected a number from 1 to {MOST_RANKS}",
            self.ranks
        );
        let Some(parameters) = self.parameters else {
            return Ok(own);
        };
        ensure!(
            (1.0..=MOST_PARAMETERS).contains(&parameters),
            "--parameters is {parameters:e}: expected a number from 1 up to {MOST_PARAMETERS:e}"
        );
        let gib = self.activations.unwrap_or(0.0);
        ensure!(
            (0.0..=MOST_GIB).contains(&gib),
            "--activations is {gib}: expected a number from 0 to {MOST_GIB:e}"
        );
        Ok(Work {
            parameters: parameters as u64,
            activations: (gib * f64::from(1 << 30)) as u64,
            ..own
        })
    }

    /// The plan for `work`.
    pub fn plan(&self, work: &Work) -> Plan {
        let stages: Vec<Row> = Stage::ALL.map(|stage| self.row(work, stage)).into();
        Plan {
            ranks: self.ranks,
            activations: work.activations,
            budget: work.budget,
            advice: advice(self.ranks, work, &stages),
            stages,
        }
    }

    fn row(&self, work: &Work, stage: Stage) -> Row {
        let [parameters, gradients, optimizer] =
            bytes_per_rank(work.parameters, work.each, stage, self.ranks);
        let total = parameters + gradients + optimizer + work.activations;
        // Gradients and gathered weights travel in the format in which they are stored.
        let bytes_each = u64::from(work.each.gradient);
        let sent = bytes_each * numbers_sent(work.parameters, stage, self.ranks);
        Row {
            stage,
            parameters,
            gradients,
            optimizer,
            total,
            fits: total <= work.budget,
            sent,
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
///
/// # Errors
/// Returns an error if standard output is closed.
pub fn print(plan: &Plan) -> Result<()> {
    // A column has room for 7 characters; large models are in GiB.
    let large = plan.stages[0].total >= 100 << 30;
    let (unit, name) = if large { (30, "GiB") } else { (20, "MiB") };
    let size = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << unit));
    say!("\n{} of each of {} ranks", name, plan.ranks);
    say!(
        "{:<14}{:>11}{:>11}{:>11}{:>13}{:>11}  fits{:>17}",
        "",
        "parameters",
        "gradients",
        "optimizer",
        "activations",
        "total",
        "sent in a step"
    );
    for row in &plan.stages {
        say!(
            "{:<14}{:>11}{:>11}{:>11}{:>13}{:>11}  {:<4}{:>17}",
            row.stage.to_string(),
            size(row.parameters),
            size(row.gradients),
            size(row.optimizer),
            size(plan.activations),
            size(row.total),
            if row.fits { "yes" } else { "no" },
            size(row.sent)
        );
    }
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

    fn args(ranks: u64) -> Args {
        Args {
            ranks,
            parameters: None,
            activations: None,
        }
    }

    fn work(billions: u64, budget_gib: u64) -> Work {
        Work {
            parameters: billions * 1_000_000_000,
            each: bytes_per_parameter(BF16, 2),
            activations: 2 << 30,
            budget: budget_gib << 30,
        }
    }

    #[test]
    fn the_first_stage_that_fits_is_advised() {
        let advice = |billions, ranks| args(ranks).plan(&work(billions, 80)).advice;
        assert!(advice(1, 8).contains("data parallelism:"), "{}", advice(1, 8));
        assert!(advice(7, 8).contains("ZeRO 1"), "{}", advice(7, 8));
        assert!(advice(20, 8).contains("ZeRO 2"), "{}", advice(20, 8));
        assert!(advice(30, 8).contains("ZeRO 3"), "{}", advice(30, 8));
        // 16 bytes of each of 100 billion parameters, over 78 GiB a rank, are 20 ranks.
        assert!(advice(100, 8).contains("at least 20 ranks"), "{}", advice(100, 8));
        let small = Work {
            activations: 90 << 30,
            ..work(1, 80)
        };
        assert!(args(8).plan(&small).advice.contains("activations alone"));
    }

    #[test]
    fn zero_3_sends_half_as_much_again() {
        let stages = args(2).plan(&work(1, 80)).stages;
        assert_eq!(stages[3].sent * 2, stages[0].sent * 3);
    }

    #[test]
    fn the_largest_plan_fits_into_64_bits() {
        let largest = Args {
            parameters: Some(MOST_PARAMETERS),
            activations: Some(MOST_GIB),
            ..args(MOST_RANKS)
        };
        let plan = largest.plan(&largest.work(work(1, 80)).unwrap());
        assert!(plan.stages.iter().all(|row| row.total > 1 << 59 && !row.fits));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for wrong in [
            Args { ranks: 0, ..args(1) },
            Args {
                parameters: Some(-1.0),
                ..args(2)
            },
            Args {
                parameters: Some(1e30),
                ..args(2)
            },
            Args {
                parameters: Some(1e9),
                activations: Some(1e18),
                ..args(2)
            },
            args(MOST_RANKS + 1),
        ] {
            assert!(wrong.work(work(1, 80)).is_err(), "{wrong:?}");
        }
    }
}

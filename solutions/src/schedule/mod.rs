//! Learning rates: pure functions from the step to the rate.

mod cosine;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

pub use cosine::cosine_with_warmup;

/// Which schedule, and its settings.
///
/// In TOML: `kind = "cosine"`, `warmup = 0.05`, ….
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum ScheduleConfig {
    /// The same rate at every step.
    Constant,
    /// Up in a straight line, then down along a cosine.
    Cosine {
        /// Share of all steps that the warm-up takes, 0 to 1.
        #[serde(default = "default_warmup")]
        warmup: f64,
        /// The last rate, as a share of the greatest, 0 to 1.
        #[serde(default)]
        floor: f64,
    },
}

fn default_warmup() -> f64 {
    0.05
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self::Cosine {
            warmup: default_warmup(),
            floor: 0.0,
        }
    }
}

impl ScheduleConfig {
    /// Holds the numbers to their ranges.
    ///
    /// # Errors
    /// The first number out of its range.
    pub fn check(&self) -> Result<()> {
        if let Self::Cosine { warmup, floor } = self {
            for (name, share) in [("warmup", warmup), ("floor", floor)] {
                ensure!(
                    (0.0..=1.0).contains(share),
                    "schedule: {name} is a share, expected 0 to 1; it is {share}"
                );
            }
        }
        Ok(())
    }

    /// The rate of step `step` (from 0) of `total`, `base` being the greatest.
    pub fn rate(&self, step: u64, total: u64, base: f64) -> f64 {
        match *self {
            Self::Constant => base,
            Self::Cosine { warmup, floor } => {
                let warmup = (warmup * total as f64).round() as u64;
                cosine_with_warmup(step, warmup, total, base, floor * base)
            }
        }
    }
}

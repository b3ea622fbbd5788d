//! Checks of a configuration.

use std::ops::RangeBounds;

use anyhow::{Result, bail, ensure};
use toml::Table;

use super::{Config, Target};
use crate::{loader::Frame, precision::Precision};

/// Points of a cloud at most: the kernels count the row of a maximum in f32, which is exact up to 2²⁴.
const MOST_POINTS: f64 = 16_777_216.0;

/// Ranges of the settings that have the same one.
const COUNTS: &str = "accumulate ranks epochs votes evaluate-every";
const NOT_NEGATIVE: &str = "learning-rate weight-decay clip warmup orthogonality jitter checkpoint-seconds";
const SHARES: &str = "smoothing momentum beta1 beta2 dropout scale point-dropout validation test";

impl Config {
    /// Checks that every value is in its range.
    ///
    /// # Errors
    /// Names the first value that is out of range, and the range.
    pub fn validate(&self) -> Result<()> {
        let settings = &Table::try_from(self)?;
        within(
            settings,
            "batch",
            2.0..,
            "at least 2: batch normalisation needs 2 clouds",
        )?;
        within(settings, COUNTS, 1.0.., "at least 1")?;
        within(settings, "components", 1.0..=1e3, "at least 1 and at most 1,000")?;
        within(settings, "bins", 2.0..=1e4, "at least 2 and at most 10,000")?;
        within(
            settings,
            "visible",
            f64::MIN_POSITIVE..=1.0,
            "above 0 and at most 1",
        )?;
        within(
            settings,
            "rank-deadline",
            f64::MIN_POSITIVE..1e6,
            "above 0 and below 1e6",
        )?;
        within(settings, "zero", 0.0..=2.0, "a stage from 0 to 2")?;
        within(
            settings,
            NOT_NEGATIVE,
            0.0..f64::INFINITY,
            "finite and at least 0",
        )?;
        within(settings, SHARES, 0.0..1.0, "at least 0 and below 1")?;
        within(
            settings,
            "points",
            1.0..=MOST_POINTS,
            "at least 1 and at most 16,777,216",
        )?;
        self.validate_target()?;
        self.validate_ranks()?;
        ensure!(
            self.validation + self.test < 1.0,
            "validation and test add up to 1 or more: nothing is left to train on"
        );
        ensure!(
            self.folds != 1,
            "folds is 1: cross-validation needs at least 2; 0 means none"
        );
        ensure!(
            self.folds == 0 || self.fold < self.folds,
            "fold is {}: folds are numbered from 0 to {}",
            self.fold,
            self.folds.saturating_sub(1)
        );
        ensure!(
            !self.nesterov || self.momentum > 0.0,
            "nesterov needs a momentum above 0, and momentum is {}",
            self.momentum
        );
        self.network(1).check()?;
        self.optim().map(drop)
    }

    fn validate_ranks(&self) -> Result<()> {
        let low = matches!(self.precision, Precision::Bf16 | Precision::Fp16);
        ensure!(
            low || !self.master_weights,
            "master-weights needs precision bf16 or fp16, and precision is {}: fp32 weights are their own masters",
            self.precision
        );
        let layerwise = ["lars", "lamb"].contains(&&*self.optimizer);
        ensure!(
            !layerwise || self.zero == 0,
            "zero is {} and optimizer is {}: it needs the norms of whole parameters, which the ranks share; use zero 0, or \
             another optimizer",
            self.zero,
            self.optimizer
        );
        let least = if self.sync_bn { 1 } else { 2 };
        ensure!(
            self.ranks == 1 || self.batch >= least * self.ranks,
            "batch is {}: {} ranks need at least {} clouds, {least} each",
            self.batch,
            self.ranks,
            least * self.ranks
        );
        Ok(())
    }

    fn validate_target(&self) -> Result<()> {
        let (target, usual, seen) = (self.target, Self::default(), &self.categories);
        if let Some(i) = (1..seen.len()).find(|&i| seen[..i].contains(&seen[i])) {
            bail!("categories has {:?} twice", seen[i]);
        }
        if target == Target::Species {
            let head = (self.head, self.components, self.bins);
            ensure!(
                seen.is_empty() && head == (usual.head, usual.components, usual.bins),
                "categories, head, components and bins work with a number only: choose --target height, diameter or \
                 volume"
            );
            return Ok(());
        }
        let no_labels = "needs --smoothing 0: there are no labels to smooth";
        let one_size = "needs --frame metric: in the unit sphere all trees are of one size";
        let scaled = "needs --scale 0: a scaled tree has another value than the label says";
        for (fits, expected) in [
            (self.smoothing == 0.0, no_labels),
            (self.frame == Frame::Metric, one_size),
            (!self.class_weights, "has no classes: remove --class-weights"),
            (self.scale == 0.0, scaled),
        ] {
            ensure!(fits, "--target {target} {expected}");
        }
        Ok(())
    }
}

/// Checks that these `settings`, separated by spaces, are numbers in `range`, which `words` describe.
fn within(settings: &Table, names: &str, range: impl RangeBounds<f64>, words: &str) -> Result<()> {
    for name in names.split(' ') {
        let setting = &settings[name];
        let value = setting.as_integer().map(|n| n as f64).or(setting.as_float());
        ensure!(
            value.is_some_and(|value| range.contains(&value)),
            "{name} is {}: it must be {words}",
            value.unwrap_or_default()
        );
    }
    Ok(())
}

//! Checks of a configuration.

use anyhow::{Result, bail, ensure};

use super::{Config, Target};
use crate::{loader::Frame, precision::Precision};

/// The kernels count the row of a maximum in f32, which is exact up to this one.
const MOST_ROWS: usize = 1 << 24;

impl Config {
    /// Checks that every value is in its range.
    ///
    /// # Errors
    /// Names the first value that is out of range, and the range.
    pub fn validate(&self) -> Result<()> {
        self.validate_points()?;
        ensure!(
            self.batch >= 2,
            "batch is {}: batch normalisation needs at least 2 clouds",
            self.batch
        );
        for (name, value, why) in [
            ("accumulate", self.accumulate, "1 means one step per batch"),
            ("ranks", self.ranks, "1 means no data parallelism"),
            ("epochs", self.epochs, "at least one is needed"),
            ("votes", self.votes, "at least one is needed"),
            ("evaluate-every", self.evaluate_every, "1 means every epoch"),
            ("components", self.components, "at least one is needed"),
        ] {
            ensure!(value >= 1, "{name} is 0: {why}");
        }
        self.validate_target()?;
        self.validate_ranks()?;
        for (name, value) in [
            ("learning-rate", self.learning_rate),
            ("weight-decay", self.weight_decay),
            ("clip", self.clip),
            ("warmup", self.warmup),
            ("orthogonality", self.orthogonality),
            ("jitter", f64::from(self.jitter)),
            ("checkpoint-seconds", self.checkpoint_seconds),
        ] {
            ensure!(
                value.is_finite() && value >= 0.0,
                "{name} is {value}: it must be finite and at least 0"
            );
        }
        for (name, value) in [
            ("smoothing", self.smoothing),
            ("momentum", self.momentum),
            ("beta1", self.beta1),
            ("beta2", self.beta2),
            ("dropout", f64::from(self.dropout)),
            ("scale", f64::from(self.scale)),
            ("point-dropout", f64::from(self.point_dropout)),
            ("validation", self.validation),
            ("test", self.test),
        ] {
            ensure!(
                (0.0..1.0).contains(&value),
                "{name} is {value}: it must be at least 0 and below 1"
            );
        }
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

    /// Checks the settings of points against their ranges and against each other.
    fn validate_points(&self) -> Result<()> {
        for (name, points, least) in [("max-points", self.max_points, 1), ("points", self.points, 0)] {
            ensure!(
                (least..=MOST_ROWS).contains(&points),
                "{name} is {points}: expected {least} to {MOST_ROWS} points of a cloud"
            );
        }
        ensure!(
            self.points > 0 || self.ranks == 1,
            "points is all and ranks is {}: clouds of different lengths are trained by one rank",
            self.ranks
        );
        Ok(())
    }
    fn validate_ranks(&self) -> Result<()> {
        let low = matches!(self.precision, Precision::Bf16 | Precision::Fp16);
        ensure!(
            low || !self.master_weights,
            "master-weights needs precision bf16 or fp16, and precision is {}: fp32 weights are their own masters",
            self.precision
        );
        let least = if self.sync_bn { 1 } else { 2 };
        ensure!(
            self.ranks == 1 || self.batch >= least * self.ranks,
            "batch is {}: {} ranks need at least {} clouds, {least} each",
            self.batch,
            self.ranks,
            least * self.ranks
        );
        ensure!(
            self.zero <= 3,
            "zero is {}: choose a stage from 0 to 3",
            self.zero
        );
        ensure!(
            self.zero < 3 || !self.plain,
            "--zero 3 needs the fused operators: candle's own graph keeps all parameters. Remove --plain, or use --zero 2"
        );
        ensure!(
            !self.offload_optimizer || self.zero > 0,
            "offload-optimizer needs --zero 1, 2 or 3"
        );
        ensure!(
            self.rank_deadline.is_finite() && self.rank_deadline > 0.0 && self.rank_deadline < 1e6,
            "rank-deadline is {}: it must be a number of seconds, above 0 and below 1e6",
            self.rank_deadline
        );
        Ok(())
    }

    fn validate_target(&self) -> Result<()> {
        ensure!(
            self.visible > 0.0 && self.visible <= 1.0,
            "visible is {}: it must be above 0 and at most 1",
            self.visible
        );
        ensure!(self.bins >= 2, "bins is {}: at least 2 are needed", self.bins);
        ensure!(
            self.components <= 1000 && self.bins <= 10_000,
            "components is {} and bins is {}: at most 1,000 and 10,000 are possible",
            self.components,
            self.bins
        );
        if let Some(i) =
            (1..self.categories.len()).find(|&i| self.categories[..i].contains(&self.categories[i]))
        {
            bail!("categories has {:?} twice", self.categories[i]);
        }
        if self.target == Target::Species {
            let usual = Self::default();
            ensure!(
                self.categories.is_empty()
                    && (self.head, self.components, self.bins) == (usual.head, usual.components, usual.bins),
                "categories, head, components and bins work with a number only: choose --target height, diameter or \
                 volume"
            );
            return Ok(());
        }
        let target = self.target;
        for (fits, expected) in [
            (
                self.smoothing == 0.0,
                "needs --smoothing 0: there are no labels to smooth",
            ),
            (
                self.frame == Frame::Metric,
                "needs --frame metric: in the unit sphere all trees are of one size",
            ),
            (!self.class_weights, "has no classes: remove --class-weights"),
        ] {
            ensure!(fits, "--target {target} {expected}");
        }
        ensure!(
            self.scale == 0.0,
            "--target {target} needs --scale 0: a scaled tree has another {target} than the label says"
        );
        Ok(())
    }

    /// Checks that the run predicts species, because `what` works only with these.
    ///
    /// # Errors
    /// Returns an error if it predicts a number.
    pub fn expect_species(&self, what: &str) -> Result<()> {
        ensure!(
            self.target == Target::Species,
            "{what} works with networks that predict the species, and target is {}",
            self.target
        );
        Ok(())
    }
}

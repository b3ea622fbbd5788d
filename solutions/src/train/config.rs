//! Everything that decides a run, as one flat table: what a TOML file may say, what a checkpoint keeps.

use anyhow::{Result, bail, ensure};
use canopy_data::{Dataset, sample::Method};
use serde::{Deserialize, Serialize};

use crate::{
    loader::{Augment, Collate, Features, Frame, Points},
    model::{Kind, PointNetConfig},
    optim::{AdamConfig, AdamWConfig, LambConfig, LarsConfig, OptimConfig, SgdConfig},
    precision::{LossScaler, Precision},
    schedule::Schedule,
};

/// The name that stands for the trees that canopy grows itself.
pub const BUILTIN: &str = "builtin";

/// How the setting `points` is written: a number above 0, or `all`, which is 0 in [`Config`].
pub mod points_setting {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    const ALL: &str = "all";

    /// Reads the setting as it is written on the command line.
    ///
    /// # Errors
    /// Returns an error if it is neither `all` nor a number above 0.
    pub fn parse(text: &str) -> Result<usize, String> {
        match text.parse() {
            _ if text == ALL => Ok(0),
            Ok(n) if n > 0 => Ok(n),
            _ => Err(format!(
                "points is '{text}': it must be a number above 0, or {ALL}"
            )),
        }
    }

    /// Writes the setting.
    ///
    /// # Errors
    /// Returns the serializer's error.
    pub fn serialize<S: Serializer>(points: &usize, serializer: S) -> Result<S::Ok, S::Error> {
        match points {
            0 => serializer.serialize_str(ALL),
            n => serializer.serialize_u64(*n as u64),
        }
    }

    /// Reads the setting.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Word(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Number(n) => n.to_string(),
            Written::Word(word) => word,
        };
        parse(&text).map_err(D::Error::custom)
    }
}

/// A run's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// `builtin`, or where a data set lies.
    pub data: String,
    /// Only these species, as the data set spells them; empty: all.
    pub species: Vec<String>,
    /// Leaves out clouds with fewer points.
    pub min_points: usize,
    /// Which PointNet.
    pub model: Kind,
    /// Points sampled from each cloud; 0, written `all`: all points, in batches of clouds of similar length.
    #[serde(with = "points_setting")]
    pub points: usize,
    /// With all points: from a cloud that has more than this many, this many are sampled. It bounds the memory of a batch.
    pub max_points: usize,
    /// The frame that clouds are seen in.
    pub frame: Frame,
    /// What the network is told of a point; runs from before there was a choice: the coordinates.
    #[serde(default)]
    pub features: Features,
    /// Thins clouds that have more points, the same way each time they are read: at random is no thinning, for the loader
    /// draws anew each time.
    pub sample: Method,
    /// Passes over the training clouds.
    pub epochs: usize,
    /// Clouds of a batch that is in memory at once; batch normalisation sees these.
    pub batch: usize,
    /// Batches whose gradients make one optimizer step: it learns from `batch × accumulate` clouds.
    pub accumulate: usize,
    /// Ranks that share each batch: threads, each with a copy of the model.
    pub ranks: usize,
    /// With ranks: batch normalisation sees the whole batch, not a rank's share.
    pub sync_bn: bool,
    /// With ranks: the run ends if a rank gives no sign of life for this time, in seconds.
    pub rank_deadline: f64,
    /// With ranks: compares their parameters every N steps; 0: at the end of each epoch and at checkpoints only.
    pub compare_ranks_every: u64,
    /// Seeds initial values, order, sampling, augmentation, dropout, split.
    pub seed: u64,
    /// `adamw`, `adam`, `sgd`, `adagrad`, `rmsprop`, `adadelta`, `lars` or `lamb`. L-BFGS is none of them: it wants the
    /// same batch again.
    pub optimizer: String,
    /// The schedule's greatest learning rate.
    pub learning_rate: f64,
    /// Weight decay: decoupled in AdamW, part of the measured direction in LAMB, added to the gradient in Adam, SGD and
    /// LARS; the others have none.
    pub weight_decay: f64,
    /// Momentum of SGD and LARS.
    pub momentum: f64,
    /// Greatest norm of all gradients together; 0: not clipped.
    pub clip: f64,
    /// As [`Schedule::parse`] takes it, after the warm-up.
    pub schedule: String,
    /// Epochs in which the learning rate rises from 0.
    pub warmup: f64,
    /// Label smoothing, 0 to 1.
    pub smoothing: f64,
    /// Weighs each species by its scarcity.
    pub class_weights: bool,
    /// Weight of the feature transform's orthogonality term (full model).
    pub orthogonality: f64,
    /// Share of the head's values dropped.
    pub dropout: f32,
    /// Augmentation: turn about the trunk.
    pub turn: bool,
    /// Augmentation: noise on coordinates, in units of the unit sphere.
    pub jitter: f32,
    /// Augmentation: scale by 1 ± this.
    pub scale: f32,
    /// Augmentation: drop up to this share of the points.
    pub point_dropout: f32,
    /// Share of the plots that choose the best epoch.
    pub validation: f64,
    /// Share of the plots that the run's result is measured on.
    pub test: f64,
    /// Cross-validation: the number of folds; 0: none, `validation` and `test` count.
    pub folds: usize,
    /// Cross-validation: which fold is tested, from 0.
    pub fold: usize,
    /// Evaluates on the validation plots each so many epochs, and at the end.
    pub evaluate_every: usize,
    /// In evaluation, each cloud is seen through so many samples and its probabilities are averaged.
    pub votes: usize,
    /// Loader threads.
    pub workers: usize,
    /// Batches under way for each loader thread.
    pub prefetch: usize,
    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    pub device: String,
    /// What products are computed in while training; on the CPU all but fp32 is emulated.
    pub precision: Precision,
    /// As [`LossScaler::parse`] takes it.
    pub loss_scale: String,
    /// With bf16 or fp16: the model's weights are rounded to the format after each step, and updated through fp32 copies.
    pub master_weights: bool,
    /// Plain candle operators instead of the fused ones.
    pub plain: bool,
    /// Divides the width of every hidden layer: 1 is the published model, more is a toy.
    pub width: usize,
    /// Saves where the run stands at least so often, seconds.
    pub checkpoint_seconds: f64,
}

/// The preset `quick`. A checkpoint from before a setting existed goes on with its default, so the default
/// of a new setting must be what the program did before.
impl Default for Config {
    fn default() -> Self {
        Self {
            data: BUILTIN.into(),
            species: Vec::new(),
            min_points: 1,
            model: Kind::Vanilla,
            points: 1024,
            max_points: 4096,
            frame: Frame::Sphere,
            features: Features::Xyz,
            sample: Method::Random,
            epochs: 32,
            batch: 32,
            accumulate: 1,
            ranks: 1,
            sync_bn: true,
            rank_deadline: 60.0,
            compare_ranks_every: 0,
            seed: 1,
            optimizer: "adamw".into(),
            learning_rate: 1e-3,
            weight_decay: 1e-2,
            momentum: 0.9,
            clip: 1.0,
            schedule: "cosine".into(),
            warmup: 2.0,
            smoothing: 0.1,
            class_weights: false,
            orthogonality: 1e-3,
            dropout: 0.3,
            turn: true,
            jitter: 0.005,
            scale: 0.1,
            point_dropout: 0.0,
            validation: 0.15,
            test: 0.2,
            folds: 0,
            fold: 0,
            evaluate_every: 4,
            votes: 1,
            workers: 1,
            prefetch: 4,
            device: "auto".into(),
            precision: Precision::Fp32,
            loss_scale: "auto".into(),
            master_weights: false,
            plain: false,
            width: 1,
            checkpoint_seconds: 15.0,
        }
    }
}

impl Config {
    /// The preset `quick` (two minutes on two cores) or `full` (the best this program does).
    ///
    /// # Errors
    /// An unknown name.
    pub fn preset(name: &str) -> Result<Self> {
        let quick = Self::default();
        match name {
            "quick" => Ok(quick),
            "full" => Ok(Self {
                model: Kind::Full,
                epochs: 60,
                warmup: 5.0,
                votes: 4,
                ..quick
            }),
            _ => bail!("no preset is called '{name}': take quick or full"),
        }
    }

    /// Holds every number to its range.
    ///
    /// # Errors
    /// Names the first value that is out of range and what it may be.
    pub fn validate(&self) -> Result<()> {
        self.validate_points()?;
        ensure!(
            self.batch >= 2,
            "batch is {}: batch normalisation needs at least 2 clouds",
            self.batch
        );
        ensure!(
            self.accumulate >= 1,
            "accumulate is 0: take 1 for a step after each batch"
        );
        self.validate_ranks()?;
        ensure!(self.epochs >= 1, "epochs is 0: there would be nothing to train");
        ensure!(self.votes >= 1, "votes is 0: a cloud must be seen at least once");
        ensure!(
            self.evaluate_every >= 1,
            "evaluate-every is 0: take 1 for every epoch"
        );
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
                "{name} is {value}: it must be a number of at least 0"
            );
        }
        for (name, value) in [
            ("smoothing", self.smoothing),
            ("momentum", self.momentum),
            ("dropout", f64::from(self.dropout)),
            ("scale", f64::from(self.scale)),
            ("point-dropout", f64::from(self.point_dropout)),
            ("validation", self.validation),
            ("test", self.test),
        ] {
            ensure!(
                (0.0..1.0).contains(&value),
                "{name} is {value}: it must be at least 0 and under 1"
            );
        }
        ensure!(
            self.validation + self.test < 1.0,
            "validation and test together leave nothing to train on"
        );
        ensure!(self.folds != 1, "folds is 1: take 0 for none, or at least 2");
        ensure!(
            self.folds == 0 || self.fold < self.folds,
            "fold is {}: folds count from 0 to {}",
            self.fold,
            self.folds.saturating_sub(1)
        );
        self.network(1).check()?;
        self.optim().map(drop)?;
        LossScaler::parse(&self.loss_scale, self.precision)?;
        self.schedule().map(drop)
    }

    fn validate_points(&self) -> Result<()> {
        ensure!(
            self.max_points >= 1,
            "max-points is 0: a cloud needs at least one point"
        );
        ensure!(
            self.points > 0 || self.ranks == 1,
            "points is all and ranks is {}: clouds of different lengths are trained by one rank",
            self.ranks
        );
        Ok(())
    }

    fn validate_ranks(&self) -> Result<()> {
        ensure!(self.ranks >= 1, "ranks is 0: take 1 for a run without sharing");
        let low = matches!(self.precision, Precision::Bf16 | Precision::Fp16);
        ensure!(
            low || !self.master_weights,
            "master-weights needs precision bf16 or fp16, and precision is {}: fp32 weights are their own masters",
            self.precision
        );
        let least = if self.sync_bn { 1 } else { 2 };
        ensure!(
            self.ranks == 1 || self.batch >= least * self.ranks,
            "batch is {}: {} ranks need at least {}, {least} for each",
            self.batch,
            self.ranks,
            least * self.ranks
        );
        ensure!(
            self.rank_deadline.is_finite() && self.rank_deadline > 0.0 && self.rank_deadline < 1e6,
            "rank-deadline is {}: it must be a number of seconds above 0",
            self.rank_deadline
        );
        Ok(())
    }

    /// The network for `classes` species.
    pub fn network(&self, classes: usize) -> PointNetConfig {
        let (kind, width, dropout) = (self.model, self.width, self.dropout);
        PointNetConfig {
            kind,
            inputs: self.features.channels(),
            classes,
            width,
            dropout,
            ..PointNetConfig::default()
        }
    }

    /// How many points of a cloud the network sees.
    pub fn cloud_points(&self) -> Points {
        match self.points {
            0 => Points::All { max: self.max_points },
            n => Points::Fixed(n),
        }
    }

    /// The largest number of points of a cloud that the network sees.
    pub fn most_points(&self) -> usize {
        match self.cloud_points() {
            Points::Fixed(n) | Points::All { max: n } => n,
        }
    }

    /// The number of points of a cloud, for people.
    pub fn points_text(&self) -> String {
        match self.cloud_points() {
            Points::Fixed(n) => n.to_string(),
            Points::All { max } => format!("all, at most {max}"),
        }
    }

    /// How a training record becomes points.
    pub fn collate(&self, data: Dataset) -> Collate {
        Collate {
            data,
            points: self.cloud_points(),
            frame: self.frame,
            features: self.features,
            augment: self.augment(),
            seed: self.seed,
        }
    }

    /// What is done to a training cloud.
    pub fn augment(&self) -> Augment {
        Augment {
            turn: self.turn,
            jitter: self.jitter,
            scale: self.scale,
            point_dropout: self.point_dropout,
        }
    }

    /// The optimizer.
    ///
    /// # Errors
    /// An unknown name.
    pub fn optim(&self) -> Result<OptimConfig> {
        let (weight_decay, momentum) = (self.weight_decay, self.momentum);
        Ok(match self.optimizer.as_str() {
            "adamw" => OptimConfig::AdamW(AdamWConfig {
                weight_decay,
                ..Default::default()
            }),
            "adam" => OptimConfig::Adam(AdamConfig {
                weight_decay,
                ..Default::default()
            }),
            "sgd" => OptimConfig::Sgd(SgdConfig {
                weight_decay,
                momentum,
                ..Default::default()
            }),
            "adagrad" => OptimConfig::Adagrad(Default::default()),
            "rmsprop" => OptimConfig::Rmsprop(Default::default()),
            "adadelta" => OptimConfig::Adadelta(Default::default()),
            "lars" => OptimConfig::Lars(LarsConfig {
                weight_decay,
                momentum,
                ..Default::default()
            }),
            "lamb" => OptimConfig::Lamb(LambConfig {
                weight_decay,
                ..Default::default()
            }),
            other => bail!(
                "no optimizer is called '{other}': take adamw, adam, sgd, adagrad, rmsprop, adadelta, lars or lamb"
            ),
        })
    }

    /// The learning rate over the run's steps.
    ///
    /// # Errors
    /// Those of [`Schedule::parse`].
    pub fn schedule(&self) -> Result<Schedule> {
        Schedule::parse(&self.schedule, self.warmup)
    }
}

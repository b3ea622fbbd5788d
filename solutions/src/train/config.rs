//! The configuration of a run: one flat table that is at once the options of `canopy train`, the settings of a TOML file, and
//! a part of each checkpoint.

use std::sync::LazyLock;

use anyhow::{Result, bail};
use canopy_data::sample::Method;
use clap::{
    ArgAction::Set,
    Parser,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IntoDeserializer, value},
};

use super::{Category, Loss, Target};
use crate::{
    loader::{Features, Frame},
    model::Kind,
    optim::{Eps, OptimConfig},
    precision::{LossScaling, Precision},
    schedule::Schedule,
    target::HeadKind,
};

/// The data set that canopy grows itself.
pub const BUILTIN: &str = "builtin";

/// Headings of the help.
const OPTIM: &str = "Optimization";
const AUGMENT: &str = "Augmentation";

/// Settings that a resumed run may change: how many ranks share what. The steps are the same except for rounding.
pub(crate) const OF_A_RESUMED_RUN: [&str; 3] = ["ranks", "overlap", "zero"];

/// A run's configuration. The doc comments of its fields are the help texts of `canopy train`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Parser)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Data set: a folder of shards, a folder with one sub-folder per species, a CSV of file and label, a public data set as
    /// downloaded, or `builtin`
    #[arg(long, value_name = "PATH", default_value = BUILTIN)]
    pub data: String,
    /// Only these species, comma-separated, as the data set spells them [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub species: Vec<String>,
    /// Leave out clouds with fewer points
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub min_points: usize,
    /// What to predict: the species, or a number that the data set knows of every tree: height (m), stem diameter (m), stem
    /// volume (m³). `builtin` knows them, and a folder of shards whose dataset.json has an `inventory` for each tree. With a
    /// number the defaults are --frame metric, --scale 0, --smoothing 0 and --visible 0.5, which cuts each tree
    #[arg(long, value_parser = choice::<Target>(&["species", "height", "diameter", "volume"]), default_value = "species", help_heading = "Target")]
    pub target: Target,
    /// How a number is predicted: a Gaussian, a mixture of Gaussians, or probabilities of bins with equally many training
    /// values
    #[arg(long, value_parser = choice::<HeadKind>(&["gaussian", "mixture", "bins"]), default_value = "bins", help_heading = "Target")]
    pub head: HeadKind,
    /// Components of a mixture
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Target")]
    pub components: usize,
    /// Number of bins
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Target")]
    pub bins: usize,
    /// Categories of each tree that the network sees by an embedding, comma-separated, to predict a number: scan, site,
    /// season [default: none]
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = choice::<Category>(&["scan", "site", "season"]), help_heading = "Target")]
    pub categories: Vec<Category>,
    /// Show only a part of each tree, on one side of a random plane: this share of its points at least. The part is the
    /// same in each epoch. 1: whole trees
    #[arg(long, value_name = "X", default_value_t = 1.0, help_heading = "Target")]
    pub visible: f64,
    /// PointNet with T-Nets (full) or without (vanilla)
    #[arg(long, value_parser = choice::<Kind>(&["vanilla", "full"]), default_value = "vanilla")]
    pub model: Kind,
    /// Points sampled from each cloud in each epoch
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub points: usize,
    /// Normalise clouds to the unit sphere, or keep them in metres (z is then the height above ground)
    #[arg(long, value_parser = choice::<Frame>(&["sphere", "metric"]), default_value = "sphere")]
    pub frame: Frame,
    /// Channels of a point: x, y, z; also its intensity; or also its return number (echo)
    #[arg(long, value_parser = choice::<Features>(&["xyz", "intensity", "echo"]), default_value = "xyz")]
    pub features: Features,
    /// Thin clouds at random, differently in each epoch; to one point per voxel; or to the farthest points (more even, slower, the same
    /// points each time)
    #[arg(long, value_parser = choice::<Method>(&["random", "voxel", "farthest"]), default_value = "random")]
    pub sample: Method,
    /// Passes over the training clouds
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub epochs: usize,
    /// Clouds per batch; batch normalisation uses the statistics of these
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub batch: usize,
    /// Gradient accumulation: one optimizer step per N batches, in the memory of one batch. Batch normalisation still sees
    /// single batches
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub accumulate: usize,
    /// Data parallelism: N ranks share each batch, each with a copy of the model. Gradients are averaged during the backward
    /// pass. The steps equal those of one rank except for rounding. The ranks are threads of this process, or the processes
    /// that mpirun, srun or `canopy launch` started
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Ranks")]
    pub ranks: usize,
    /// Synchronised batch normalisation: statistics over the whole batch; false: over each rank's share
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = Set, help_heading = "Ranks")]
    pub sync_bn: bool,
    /// Send gradients to other ranks while the backward pass runs; false: after its end. No difference with --zero 1
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = Set, help_heading = "Ranks")]
    pub overlap: bool,
    /// With --ranks: end the run if a rank reports no activity for S seconds
    #[arg(long, value_name = "S", default_value_t = 60.0, help_heading = "Ranks")]
    pub rank_deadline: f64,
    /// With --ranks: check every N steps that all ranks have the same parameters; 0: at the end of each epoch and at
    /// checkpoints only
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Ranks")]
    pub compare_ranks_every: u64,
    /// ZeRO, with --ranks: what the ranks share instead of each having a copy. 1: the optimizer's state; 2: also the
    /// gradients; 0: nothing. Losses equal those without ZeRO except for rounding
    #[arg(long, value_name = "STAGE", value_parser = clap::value_parser!(u8).range(0..=2), default_value_t = 0, help_heading = "Ranks")]
    pub zero: u8,
    /// Seed of initial values, order, sampling, augmentation, dropout and split
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Optimizer
    #[arg(long, value_parser = PossibleValuesParser::new(OptimConfig::all().map(|optim| optim.name())), default_value = "adamw", help_heading = OPTIM)]
    pub optimizer: String,
    /// Peak learning rate
    #[arg(long, value_name = "RATE", default_value_t = 1e-3, help_heading = OPTIM)]
    pub learning_rate: f64,
    /// Weight decay: decoupled in adamw, part of the update direction in lamb, added to the gradient in adam, sgd and lars
    #[arg(long, value_name = "X", default_value_t = 1e-2, help_heading = OPTIM)]
    pub weight_decay: f64,
    /// Momentum of sgd and lars
    #[arg(long, value_name = "X", default_value_t = 0.9, help_heading = OPTIM)]
    pub momentum: f64,
    /// Nesterov's momentum, with sgd
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = false, action = Set, help_heading = OPTIM)]
    pub nesterov: bool,
    /// Decay rate of the mean of the gradients, in adam, adamw and lamb
    #[arg(long, value_name = "X", default_value_t = 0.9, help_heading = OPTIM)]
    pub beta1: f64,
    /// Decay rate of the mean of the squared gradients, in adam, adamw and lamb
    #[arg(long, value_name = "X", default_value_t = 0.999, help_heading = OPTIM)]
    pub beta2: f64,
    /// What adam, adamw and lamb add to the root of the squares; auto: the optimizer's own default
    #[arg(long, value_name = "X", default_value_t = Eps(None), help_heading = OPTIM)]
    #[serde(with = "super::by_text")]
    pub eps: Eps,
    /// Clip the global gradient norm to this; 0: no clipping
    #[arg(long, value_name = "NORM", default_value_t = 1.0, help_heading = OPTIM)]
    pub clip: f64,
    /// Learning rate schedule after the warm-up: cosine, constant, step:EPOCHS:GAMMA, multistep:EPOCH,EPOCH:GAMMA,
    /// exponential:GAMMA, `onecycle[:RISING]`
    #[arg(long, value_name = "FORM", default_value_t = Schedule::Cosine, help_heading = OPTIM)]
    #[serde(with = "super::by_text")]
    pub schedule: Schedule,
    /// Warm-up: epochs in which the learning rate rises linearly from 0
    #[arg(long, value_name = "EPOCHS", default_value_t = 2.0, help_heading = OPTIM)]
    pub warmup: f64,
    /// Label smoothing, 0 to 1
    #[arg(long, value_name = "X", default_value_t = Loss::USUAL.smoothing, help_heading = OPTIM)]
    pub smoothing: f64,
    /// Weight the loss by inverse class frequency
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = false, action = Set, help_heading = OPTIM)]
    pub class_weights: bool,
    /// Weight of the orthogonality term of the feature transform (full model)
    #[arg(long, value_name = "X", default_value_t = Loss::USUAL.orthogonality, help_heading = OPTIM)]
    pub orthogonality: f64,
    /// Dropout probability in the network's head
    #[arg(long, value_name = "P", default_value_t = 0.3, help_heading = OPTIM)]
    pub dropout: f32,
    /// Rotate clouds about the trunk
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = Set, help_heading = AUGMENT)]
    pub turn: bool,
    /// Standard deviation of the noise on coordinates, in units of the unit sphere
    #[arg(long, value_name = "X", default_value_t = 0.005, help_heading = AUGMENT)]
    pub jitter: f32,
    /// Scale clouds by a factor of 1 ± this
    #[arg(long, value_name = "X", default_value_t = 0.1, help_heading = AUGMENT)]
    pub scale: f32,
    /// Drop up to this share of the points
    #[arg(long, value_name = "X", default_value_t = 0.0, help_heading = AUGMENT)]
    pub point_dropout: f32,
    /// Share of the plots in the validation set, which chooses the best epoch; 0: the last epoch is kept
    #[arg(long, value_name = "X", default_value_t = 0.15, help_heading = "Evaluation")]
    pub validation: f64,
    /// Share of the plots in the test set, which the final scores are measured on; 0: no test set
    #[arg(long, value_name = "X", default_value_t = 0.2, help_heading = "Evaluation")]
    pub test: f64,
    /// Cross-validation by plots with K folds; 0: none, --validation and --test apply
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Evaluation")]
    pub folds: usize,
    /// Cross-validation: the fold to test on, from 0
    #[arg(long, value_name = "I", default_value_t = 0, help_heading = "Evaluation")]
    pub fold: usize,
    /// Evaluate on the validation set every N epochs, and after the last one
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Evaluation")]
    pub evaluate_every: usize,
    /// Test-time augmentation: average the probabilities over N samples of each test cloud
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Evaluation")]
    pub votes: usize,
    /// Data loader threads
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Machine")]
    pub workers: usize,
    /// Batches prefetched per worker
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Machine")]
    pub prefetch: usize,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, value_name = "NAME", default_value = "auto", help_heading = "Machine")]
    pub device: String,
    /// Format of the matrix products in training; everything else is fp32. Evaluations are in fp32, except that tf32 on
    /// a GPU is also theirs (`canopy eval --precision` evaluates in any format). A CPU
    /// emulates the others, to show their accuracy, not their speed
    #[arg(long, value_parser = choice::<Precision>(&["fp32", "tf32", "bf16", "fp16"]), default_value = "fp32", help_heading = "Precision")]
    pub precision: Precision,
    /// Loss scaling, which keeps small gradients from underflowing in fp16: dynamic (PyTorch's rule),
    /// `dynamic:POWER:WINDOW` (it begins with 2^POWER and grows after WINDOW good steps), off, a constant, or auto (dynamic
    /// for fp16, otherwise off)
    #[arg(long, value_name = "SCALE", default_value_t = LossScaling::Auto, help_heading = "Precision")]
    #[serde(with = "super::by_text")]
    pub loss_scale: LossScaling,
    /// Master weights, with bf16 or fp16: round the model's weights to the format after each step, and update them through
    /// fp32 copies
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = false, action = Set, help_heading = "Precision")]
    pub master_weights: bool,
    /// Plain candle operators instead of the fused ones
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = false, action = Set, help_heading = "Machine")]
    pub plain: bool,
    /// Divide the width of every hidden layer by N; 1 is the published model
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Machine")]
    pub width: usize,
    /// Print step, learning rate and loss every N steps; 0: never
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Machine")]
    pub steps_per_print: u64,
    /// Save a checkpoint at least every S seconds
    #[arg(long, value_name = "S", default_value_t = 15.0, help_heading = "Machine")]
    pub checkpoint_seconds: f64,
}

/// Parses one of `names` as serde does.
pub(crate) fn choice<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let parse = |name: String| T::deserialize(IntoDeserializer::<value::Error>::into_deserializer(name));
    PossibleValuesParser::new(names).try_map(parse)
}

/// The preset `quick`: the defaults of the options. A checkpoint that is older than a setting is resumed with the setting's
/// default, so the default of a new setting must be what the program did before.
impl Default for Config {
    fn default() -> Self {
        static QUICK: LazyLock<Config> = LazyLock::new(|| Config::parse_from(["train"]));
        QUICK.clone()
    }
}

/// JSON may change the last bit of a number.
fn same(a: &toml::Value, b: &toml::Value) -> bool {
    match (a.as_float(), b.as_float()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs(),
        _ => a == b,
    }
}

impl Config {
    /// The first setting in which two configurations differ, of those that a resumed run keeps: `seed: 7 instead of 1`.
    pub fn difference(&self, other: &Self) -> Result<Option<String>> {
        let others = toml::Table::try_from(other)?;
        let kept = toml::Table::try_from(self)?
            .into_iter()
            .filter(|(key, _)| !OF_A_RESUMED_RUN.contains(&&**key));
        let mut differences = kept.filter_map(|(key, value)| {
            let other = others.get(&key)?;
            (!same(&value, other)).then(|| format!("{key}: {value} instead of {other}"))
        });
        Ok(differences.next())
    }

    /// The preset `quick` (about a minute on two cores) or `full` (best accuracy).
    ///
    /// # Errors
    /// Returns an error if the name is unknown.
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
            _ => bail!("there is no preset '{name}': choose quick or full"),
        }
    }

    /// The same configuration with the defaults of target `target`. A number needs clouds in metres that are not scaled.
    #[must_use]
    pub fn for_target(self, target: Target) -> Self {
        match target {
            Target::Species => Self { target, ..self },
            _ => Self {
                target,
                frame: Frame::Metric,
                scale: 0.0,
                smoothing: 0.0,
                visible: 0.5,
                ..self
            },
        }
    }
}

//! Options that a preset, a TOML file and the command line may set, the later over the earlier.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::train::{Config, points_setting};

/// The setting `points`; 0 is `all`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PointsSetting(#[serde(with = "points_setting")] usize);

impl std::str::FromStr for PointsSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        points_setting::parse(text).map(Self)
    }
}

/// One field for each of [`Config`]'s, absent where it was not said.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[allow(missing_docs)] // the help text says it
pub struct Options {
    /// Data set: a folder of shards, a folder with one sub-folder a species, a CSV of file and label, a
    /// data set as downloaded; or `builtin`
    #[arg(long, value_name = "PATH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Only these species, comma-separated
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub species: Option<Vec<String>>,
    /// Leave out clouds with fewer points
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_points: Option<usize>,
    /// PointNet with T-Nets (full) or without (vanilla)
    #[arg(long, value_parser = ["vanilla", "full"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Points sampled from each cloud, anew in each epoch; all: every point, in batches of clouds of similar length
    #[arg(long, value_name = "N|all")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<PointsSetting>,
    /// With --points all: from a cloud that has more than N points, N are sampled, which bounds the memory of a batch
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_points: Option<usize>,
    /// See clouds in the unit sphere, or in metres (z being height above ground)
    #[arg(long, value_parser = ["sphere", "metric"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// See of a point x, y, z; with its intensity; or also its return number (echo)
    #[arg(long, value_parser = ["xyz", "intensity", "echo"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<String>,
    /// Thin clouds at random, anew each epoch; to one point a voxel; or to the farthest points (more even, slower, the same
    /// points each time)
    #[arg(long, value_parser = ["random", "voxel", "farthest"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
    /// Passes over the training clouds
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<usize>,
    /// Clouds of a batch
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Make one step of the gradients of N batches: learns as from a batch N times as large, in the memory of one. Batch
    /// normalisation still sees single batches
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulate: Option<usize>,
    /// Share each batch among N ranks: threads of this process, each with a copy of the model; their gradients are averaged
    /// while the backward pass goes on. The steps equal those of one rank except for rounding [default: 1]
    #[arg(long, value_name = "N", help_heading = "Ranks")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// With --ranks: synchronise batch normalisation over the whole batch; false: each rank normalises by its own share
    /// [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = "Ranks")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_bn: Option<bool>,
    /// With --ranks: end the run if a rank gives no sign of life for S seconds [default: 60]
    #[arg(long, value_name = "S", help_heading = "Ranks")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_deadline: Option<f64>,
    /// With --ranks: check every N steps that all ranks have the same parameters; 0: at the end of each epoch and at
    /// checkpoints only [default: 0]
    #[arg(long, value_name = "N", help_heading = "Ranks")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare_ranks_every: Option<u64>,
    /// Seeds initial values, order, sampling, augmentation, dropout, split
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Optimizer
    #[arg(long, value_parser = ["adamw", "adam", "sgd", "adagrad", "rmsprop", "adadelta", "lars", "lamb"], help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<String>,
    /// Greatest learning rate
    #[arg(long, value_name = "RATE", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// Weight decay of adamw, adam and sgd
    #[arg(long, value_name = "X", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f64>,
    /// Momentum of sgd and lars
    #[arg(long, value_name = "X", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub momentum: Option<f64>,
    /// Greatest norm of the gradients; 0: not clipped
    #[arg(long, value_name = "NORM", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Learning rate after the warm-up: cosine, constant, step:EPOCHS:GAMMA, multistep:EPOCH,EPOCH:GAMMA,
    /// exponential:GAMMA, onecycle[:RISING]
    #[arg(long, value_name = "FORM", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Epochs in which the learning rate rises from 0
    #[arg(long, value_name = "EPOCHS", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<f64>,
    /// Label smoothing
    #[arg(long, value_name = "SHARE", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothing: Option<f64>,
    /// Weigh each species by its scarcity
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<bool>,
    /// Weight of the orthogonality term of the full model
    #[arg(long, value_name = "X", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orthogonality: Option<f64>,
    /// Share of the head's values dropped
    #[arg(long, value_name = "SHARE", help_heading = "Learning")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropout: Option<f32>,
    /// Turn clouds about the trunk
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = "Augmentation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<bool>,
    /// Noise on coordinates, in units of the unit sphere
    #[arg(long, value_name = "X", help_heading = "Augmentation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<f32>,
    /// Scale by 1 ± this
    #[arg(long, value_name = "SHARE", help_heading = "Augmentation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f32>,
    /// Drop up to this share of the points
    #[arg(long, value_name = "SHARE", help_heading = "Augmentation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point_dropout: Option<f32>,
    /// Share of the plots that choose the best epoch
    #[arg(long, value_name = "SHARE", help_heading = "Evaluation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Share of the plots that the result is measured on
    #[arg(long, value_name = "SHARE", help_heading = "Evaluation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<f64>,
    /// Cross-validation by plots: number of folds
    #[arg(long, value_name = "K", help_heading = "Evaluation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// Cross-validation: the fold to test on, from 0
    #[arg(long, value_name = "I", help_heading = "Evaluation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold: Option<usize>,
    /// Evaluate each so many epochs
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_every: Option<usize>,
    /// Samples of a test cloud whose probabilities are averaged
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub votes: Option<usize>,
    /// Loader threads
    #[arg(long, value_name = "N", help_heading = "Machine")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// Batches under way for each loader thread
    #[arg(long, value_name = "N", help_heading = "Machine")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch: Option<usize>,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, value_name = "NAME", help_heading = "Machine")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Train with products in this format, the rest and the weights in fp32. A GPU has it; on the CPU all but fp32 is
    /// emulated, by operators run one at a time and rounded: shows accuracy, not speed. Evaluation is fp32 always
    #[arg(long, value_parser = ["fp32", "tf32", "bf16", "fp16"], help_heading = "Precision")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// Scale the loss, so that small gradients do not vanish in fp16: dynamic (PyTorch's rule), deepspeed (DeepSpeed's),
    /// off, a number that stays, or auto (dynamic for fp16, else off)
    #[arg(long, value_name = "SCALE", help_heading = "Precision")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<String>,
    /// With bf16 or fp16: keep the model's weights rounded to the format, and update them through fp32 copies (master
    /// weights) [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = "Precision")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_weights: Option<bool>,
    /// Plain candle operators instead of the fused ones
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = "Machine")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain: Option<bool>,
    /// Divide the width of every hidden layer
    #[arg(long, value_name = "N", help_heading = "Machine")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    /// Save where the run stands at least so often, in seconds
    #[arg(long, value_name = "S", help_heading = "Machine")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_seconds: Option<f64>,
}

impl Options {
    /// The options that a TOML file sets.
    ///
    /// # Errors
    /// Names the file, the line, and what is wrong there.
    pub fn from_file(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} does not fit", path.display()))
    }

    /// `config` with these options over it.
    ///
    /// # Errors
    /// A value that does not fit.
    pub fn over(&self, config: &Config) -> Result<Config> {
        let mut table = toml::Table::try_from(config)?;
        table.extend(toml::Table::try_from(self)?);
        Ok(table.try_into()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_a_run_is_an_option() {
        let config = toml::Table::try_from(Config::preset("quick").unwrap()).unwrap();
        let as_options: Result<Options, _> = config.clone().try_into();
        let back = toml::Table::try_from(as_options.unwrap()).unwrap();
        assert_eq!(back, config);
    }

    #[test]
    fn options_win_over_the_preset_and_leave_the_rest() {
        let quick = Config::preset("quick").unwrap();
        let options: Options = toml::from_str("epochs = 3\nmodel = \"full\"\njitter = 0.25").unwrap();
        let config = options.over(&quick).unwrap();
        assert_eq!((config.epochs, config.jitter), (3, 0.25));
        assert_eq!(
            Config {
                epochs: quick.epochs,
                jitter: quick.jitter,
                model: quick.model,
                ..config
            },
            quick
        );
    }

    #[test]
    fn a_misspelt_setting_is_named_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.toml");
        fs::write(&path, "seed = 1\nepohcs = 3\n").unwrap();
        let e = format!("{:#}", Options::from_file(&path).unwrap_err());
        assert!(
            e.contains("run.toml") && e.contains("line 2") && e.contains("epohcs"),
            "{e}"
        );
    }
}

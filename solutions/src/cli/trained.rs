//! A trained network, as `canopy eval` and `canopy predict` open it, and their common options.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device};

use super::profiling::Profiling;
use crate::{
    device,
    kernels::Pass,
    model::PointNet,
    precision::Precision,
    target::Head,
    train::{Config, Progress, RunFolder, checkpoint, choice},
};

/// Options of the commands that use a trained network.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Folder of a run, or a checkpoint file
    run: PathBuf,
    /// Test-time augmentation: average the predictions over N samples of each cloud [default: the run's]
    #[arg(long, value_name = "N")]
    votes: Option<usize>,
    /// auto, cpu, cuda or cuda:N [default: eval: the run's, predict: auto]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Format of the matrix products, as in `canopy train`; the run's own does not apply
    #[arg(long, value_parser = choice::<Precision>(&["fp32", "tf32", "bf16", "fp16"]), default_value = "fp32")]
    pub precision: Precision,
    #[command(flatten)]
    pub profiling: Profiling,
}

impl Options {
    /// The number of samples per cloud.
    pub fn votes(&self, config: &Config) -> usize {
        self.votes.unwrap_or(config.votes).max(1)
    }
}

/// A trained network.
pub struct Trained {
    /// How it was trained.
    pub progress: Progress,
    pub model: PointNet,
    pub device: Device,
    /// An evaluation in the format that was asked for.
    pub pass: Pass,
    /// The folder of its weights.
    pub folder: PathBuf,
}

impl Trained {
    /// The best weights of the run, or other `weights`, on the device of the options or else `device`; by default that of the
    /// run.
    pub fn open(options: &Options, weights: Option<&Path>, device: Option<&str>) -> Result<Self> {
        let best = best_of(&options.run)?;
        let saved = checkpoint::load(&best)?;
        let progress = saved.progress;
        let config = &progress.config;
        let device = options.device.as_deref().or(device);
        let device = device::choose(device.unwrap_or(&config.device))?.device;
        let format = options.precision;
        let outputs = progress
            .head
            .as_ref()
            .map_or(progress.species.len(), Head::outputs);
        let model = PointNet::new(&config.network(outputs), &device, DType::F32, 0)?;
        let (tensors, source) = match weights {
            Some(path) => (checkpoint::weights(path, &progress.species)?, path),
            None => (saved.model, &*best),
        };
        model.from_map(&tensors, &source.display().to_string())?;
        if let Some(description) = format.description(&device, config.plain) {
            note!("precision: {description}");
        }
        Ok(Self {
            pass: Pass::eval().plain(config.plain).lowered(format.lowering(&device)),
            folder: best.parent().unwrap_or(Path::new(".")).to_owned(),
            progress,
            model,
            device,
        })
    }
}

/// The best weights of a run, given its folder or the file itself.
fn best_of(run: &Path) -> Result<PathBuf> {
    if run.is_file() {
        return Ok(run.to_owned());
    }
    let best = run.join(RunFolder::BEST);
    ensure!(
        best.is_file(),
        "{} contains no {}: is it the folder of a run that has completed an evaluation?",
        run.display(),
        RunFolder::BEST
    );
    best.canonicalize()
        .with_context(|| format!("{} cannot be read", best.display()))
}

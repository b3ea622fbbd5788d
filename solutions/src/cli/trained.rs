//! A trained network, as `canopy eval` and `canopy predict` open it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device};

use crate::{
    device,
    kernels::Pass,
    model::PointNet,
    precision::Precision,
    target::Head,
    train::{Progress, RunFolder, checkpoint},
};

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
    /// The best weights of `run`, which is the folder of a run or a checkpoint, or other `weights`, on a device, by default
    /// that of the run.
    ///
    /// # Errors
    /// Names what is missing or does not fit.
    pub fn open(run: &Path, weights: Option<&Path>, device: Option<&str>, format: Precision) -> Result<Self> {
        let best = best_of(run)?;
        let saved = checkpoint::load(&best)?;
        let progress = saved.progress;
        let config = &progress.config;
        let device = device::choose(device.unwrap_or(&config.device))?.device;
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
            eprintln!("precision: {description}");
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

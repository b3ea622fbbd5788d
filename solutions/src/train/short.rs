//! Short trainings that write nothing to disk, for `canopy bench`, `canopy find-lr` and the lessons' experiments.

use std::sync::Arc;

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy_data::{Dataset, builtin, cache_folder, split::Split};

use super::{
    Config, Loss, MicroBatch, OnDevice, Step, data, evaluate, mean_loss,
    species::Species,
    task::{Part, Task},
};
use crate::{
    device,
    kernels::{Lowering, Pass, device::Launcher},
    loader::{Batch, Collate, batches, epoch_order},
    model::PointNet,
    optim::Optimizer,
    precision::{GradScaler, LossScale},
};

/// Batch size of evaluations.
const LOOKED_AT: usize = 64;

/// Returns the built-in forest. Prints a message if it must be generated first.
///
/// # Errors
/// Returns an error if the cache is damaged and cannot be written again.
pub fn built_in() -> Result<Dataset> {
    let grown = builtin::load(&builtin::Config::default(), &cache_folder(), &|done, total| {
        if done == 0 {
            note!("generating the built-in forest of {total} scans (once; it is cached)");
        }
    })?;
    Ok(grown.0)
}

/// Returns the configuration of a small network that trains within seconds: a quarter of the width, no dropout, no random
/// scaling.
pub fn small(points: usize, seed: u64) -> Config {
    Config {
        points,
        seed,
        width: 4,
        dropout: 0.0,
        scale: 0.0,
        validation: 0.1,
        test: 0.25,
        ..Config::default()
    }
}

/// A data set, by default the built-in forest, split by plot as in a run.
#[derive(Debug)]
pub struct Forest {
    /// Network, input and training settings.
    pub config: Config,
    /// All records.
    pub data: Dataset,
    /// Training, validation and test records.
    pub split: Split,
    /// The device of the networks, as configured; by default a GPU if there is one.
    pub device: Device,
}

impl Forest {
    /// Opens the built-in forest with the settings of `config`.
    ///
    /// # Errors
    /// Returns the errors of [`built_in`], [`data::choose`], [`data::split`] and [`device::choose`].
    pub fn open(config: Config) -> Result<Self> {
        let data = data::choose(&config, &built_in()?)?;
        let split = data::split(&config, &data)?;
        let device = device::choose(&config.device)?.device;
        Ok(Self {
            config,
            data,
            split,
            device,
        })
    }

    /// Returns a new network, initialised from the configured seed.
    pub fn model(&self) -> Result<PointNet> {
        let network = self.config.network(self.data.species.len());
        PointNet::new(&network, &self.device, DType::F32, self.config.seed)
    }

    /// Returns how training records become batches.
    pub fn collate(&self) -> Collate {
        self.config.collate(self.data.clone())
    }

    /// Returns the batch of `records`, sampled and augmented for `epoch`.
    pub fn batch(&self, records: &[usize], epoch: u64) -> Result<Batch> {
        self.collate().batch(records, epoch)
    }

    /// Returns the training batches of `epoch` with `size` clouds each, on the device. Drops the last, incomplete batch.
    pub fn epoch(&self, epoch: u64, size: usize) -> impl Iterator<Item = Result<(Tensor, Tensor)>> {
        let records = batches(&self.order(epoch), size, true).into_iter();
        records.map(move |records| self.batch(&records, epoch)?.to_device(&self.device))
    }

    /// Returns the training records in the order of `epoch`.
    pub fn order(&self, epoch: u64) -> Vec<usize> {
        let order = epoch_order(self.split.train.len(), self.config.seed, epoch);
        order.into_iter().map(|i| self.split.train[i]).collect()
    }

    /// Returns the test records, then the validation records.
    pub fn unseen(&self) -> Vec<usize> {
        [self.split.test.clone(), self.split.validation.clone()].concat()
    }

    /// Returns the share of `records` that `model` classifies correctly, using its running statistics.
    pub fn accuracy(&self, model: &PointNet, records: &[usize]) -> Result<f64> {
        let config = Config {
            batch: LOOKED_AT,
            workers: 1,
            votes: 1,
            ..self.config.clone()
        };
        let task = Species(&self.data.species);
        let part = Part {
            name: "unseen",
            data: &self.data,
            categories: None,
            records,
        };
        let predictions = evaluate::predict(&task, model, &part, &config, &Pass::eval(), &mut |_| Ok(()))?;
        Ok(task.scores(&part, &predictions).accuracy)
    }
}

/// A network under training, and how its steps are taken.
pub struct Learner {
    /// The network.
    pub model: PointNet,
    /// Its optimizer.
    pub optimizer: Box<dyn Optimizer>,
    /// The objective.
    pub loss: Loss,
    /// Maximum norm of a step's gradients; 0: not clipped.
    pub clip: f64,
    /// Seeds dropout.
    pub seed: u64,
    /// Plain candle operators instead of the fused ones.
    pub plain: bool,
    /// Low-precision formats of the operators; none in fp32.
    pub lowering: Option<Arc<dyn Lowering>>,
    /// Runs the CUDA kernels; none: on a GPU they run there.
    pub launcher: Option<Arc<dyn Launcher>>,
    /// Scales the loss, if it is scaled.
    pub scaler: Option<Box<GradScaler<dyn LossScale>>>,
    /// Steps, including those that were skipped.
    pub steps: u64,
    /// Steps that were skipped because a gradient overflowed.
    pub skipped: u64,
}

impl Learner {
    /// Creates a learner that trains in fp32 without clipping and loss scaling, with dropout seed 1.
    pub fn new(model: PointNet, optimizer: Box<dyn Optimizer>, loss: Loss) -> Self {
        Self {
            model,
            optimizer,
            loss,
            clip: 0.0,
            seed: 1,
            plain: false,
            lowering: None,
            launcher: None,
            scaler: None,
            steps: 0,
            skipped: 0,
        }
    }

    /// The trainer's [`Step`] on `[clouds, points, channels]` and `[clouds]`. Returns its loss, still on the device.
    pub fn step(&mut self, (points, labels): (&Tensor, &Tensor), learning_rate: f64) -> Result<Tensor> {
        let mut pass = Pass::train(self.seed, self.steps)
            .plain(self.plain)
            .lowered(self.lowering.clone());
        if let Some(launcher) = &self.launcher {
            pass = pass.with_launcher(launcher.clone());
        }
        self.steps += 1;
        let mut step = Step {
            clip: self.clip,
            scaler: self.scaler.as_deref_mut(),
            ..Step::new(&self.model, &mut *self.optimizer, &self.loss)
        };
        let micro = MicroBatch::new((points.clone(), labels.clone()), pass);
        let stepped = step.take(&[micro], learning_rate)?;
        self.skipped += u64::from(!stepped.taken);
        Ok(stepped.figures[0].loss.to_dtype(DType::F32)?)
    }

    /// Takes a step on each of `batches`, at the learning rate that `rate` returns for its number. Returns the mean loss
    /// over the clouds of the steps that were not skipped, read in one wait; 0 if there were none.
    ///
    /// # Errors
    /// Those of `batches` and of [`Self::step`].
    pub fn epoch(
        &mut self,
        batches: &mut dyn Iterator<Item = Result<(Tensor, Tensor)>>,
        rate: &mut dyn FnMut(u64) -> f64,
    ) -> Result<f64> {
        let mut losses = Vec::new();
        for batch in batches {
            let (points, labels) = batch?;
            let skipped = self.skipped;
            let loss = self.step((&points, &labels), rate(self.steps))?;
            if self.skipped == skipped {
                losses.push(Ok((OnDevice::new(&loss)?, labels.elem_count() as u64)));
            }
        }
        Ok(mean_loss(&mut losses.into_iter())?)
    }
}

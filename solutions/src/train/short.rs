//! Short trainings that keep nothing on disk: what `canopy bench` and the lessons' experiments share.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy_data::{Dataset, builtin, cache_folder, split::Split};

use super::{Config, EvaluateOptions, Loss, data, evaluate, train_step};
use crate::{
    device,
    kernels::Pass,
    loader::{Batch, Collate, Points, batches, epoch_order},
    model::PointNet,
    optim::Optimizer,
};

/// Clouds of a batch where nothing is learnt.
const LOOKED_AT: usize = 64;

/// The built-in forest; says so where it has to grow first.
///
/// # Errors
/// A cache that is damaged and cannot be written anew.
pub fn built_in() -> Result<Dataset> {
    let grown = builtin::load(&builtin::Config::default(), &cache_folder(), &|done, total| {
        if done == 0 {
            eprintln!("growing the forest, {total} scans (once; it is kept)");
        }
    })?;
    Ok(grown.dataset)
}

/// A quarter of the width, no dropout, no scaling of clouds: a network that learns trees within seconds.
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

/// Trees of the built-in forest, split by plots as a run splits them.
#[derive(Debug)]
pub struct Forest {
    /// What is trained, and how clouds become points.
    pub config: Config,
    /// All trees.
    pub data: Dataset,
    /// Which of them train.
    pub split: Split,
    /// Where networks are made and trained: what the configuration asks for, by default a GPU where there is one.
    pub device: Device,
}

impl Forest {
    /// The forest that `config` asks for.
    ///
    /// # Errors
    /// Those of [`built_in`], [`data::choose`], [`data::split`] and [`device::choose`].
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

    /// A new network, the same for the same seed.
    ///
    /// # Errors
    /// candle's.
    pub fn model(&self) -> Result<PointNet> {
        let network = self.config.network(self.data.species.len());
        PointNet::new(&network, &self.device, DType::F32, self.config.seed)
    }

    /// How a tree that trains becomes points.
    pub fn collate(&self) -> Collate {
        self.config.collate(self.data.clone())
    }

    /// The clouds of `records`, as `epoch` sees them.
    ///
    /// # Errors
    /// The data set's.
    pub fn batch(&self, records: &[usize], epoch: u64) -> Result<Batch> {
        self.collate().batch(records, epoch)
    }

    /// Records that train, in the order of `epoch`.
    pub fn order(&self, epoch: u64) -> Vec<usize> {
        let order = epoch_order(self.split.train.len(), self.config.seed, epoch);
        order.into_iter().map(|i| self.split.train[i]).collect()
    }

    /// Records that do not train: to test, then to choose an epoch by.
    pub fn unseen(&self) -> Vec<usize> {
        [self.split.test.clone(), self.split.validation.clone()].concat()
    }

    /// Share of `records` that `model` names rightly, by its running statistics.
    ///
    /// # Errors
    /// The data set's, or candle's.
    pub fn accuracy(&self, model: &PointNet, records: &[usize]) -> Result<f64> {
        let options = EvaluateOptions {
            points: Points::Fixed(self.config.points),
            lengths: &[],
            frame: self.config.frame,
            features: self.config.features,
            batch: LOOKED_AT,
            votes: 1,
            workers: 1,
            plain: false,
        };
        let said = evaluate::predict(model, &self.data, records, &options, &mut |_| Ok(()))?;
        Ok(said.scores("unseen", &self.data.species).accuracy)
    }

    /// Batch norm's running statistics follow training slowly, and a large batch has few steps: they are measured anew
    /// with the weights as they are, or evaluation would see those of an earlier network.
    ///
    /// # Errors
    /// The data set's, or candle's.
    pub fn measure_statistics(&self, model: &PointNet) -> Result<()> {
        for epoch in 0..4 {
            for records in batches(&self.order(epoch), LOOKED_AT, true) {
                let (points, _) = self.batch(&records, epoch)?.to_device(&self.device)?;
                model.forward(&points, &Pass::train(self.config.seed, epoch))?;
            }
        }
        Ok(())
    }
}

/// A network that learns.
pub struct Learner {
    /// The network.
    pub model: PointNet,
    /// Its optimizer.
    pub optimizer: Box<dyn Optimizer>,
    /// What is to become small.
    pub loss: Loss,
    /// Greatest norm of a step's gradients; 0: as they are.
    pub clip: f64,
    /// Draws dropout.
    pub seed: u64,
    /// candle's operators in the place of the fused ones.
    pub plain: bool,
    /// Steps taken.
    pub steps: u64,
}

impl Learner {
    /// Nothing is clipped, dropout drawn by seed 1.
    pub fn new(model: PointNet, optimizer: Box<dyn Optimizer>, loss: Loss) -> Self {
        Self {
            model,
            optimizer,
            loss,
            clip: 0.0,
            seed: 1,
            plain: false,
            steps: 0,
        }
    }

    /// The trainer's step on `[clouds, points, channels]` and `[clouds]`; its loss, still on the device.
    ///
    /// # Errors
    /// Those of [`train_step`].
    pub fn step(&mut self, (points, labels): (&Tensor, &Tensor), learning_rate: f64) -> Result<Tensor> {
        let pass = Pass::train(self.seed, self.steps).plain(self.plain);
        self.steps += 1;
        let (model, optimizer, data) = (&self.model, &mut *self.optimizer, (points, labels));
        let (loss, _) = train_step(
            model,
            optimizer,
            data,
            &self.loss,
            &pass,
            learning_rate,
            self.clip,
        )?;
        Ok(loss)
    }
}

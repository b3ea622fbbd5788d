//! Trains a small PointNet twice: once without interruption, once stopped in the middle of an epoch and resumed.

use std::collections::HashMap;

use anyhow::Result;
use candle_core::{DType, Error, Tensor};
use canopy::{
    kernels::Pass,
    loader::{Augment, Collate, batches},
    model::PointNet,
    optim::{OptimConfig, Optimizer},
    train::{
        Config, Loss, OnDevice, Saved,
        metrics::Scores,
        short::{self, Forest},
    },
};
use lesson04::Lesson04;

/// Points of a cloud.
pub const POINTS: usize = 128;
/// Passes over the trees.
pub const EPOCHS: usize = 8;
const BATCH: usize = 16;
const RATE: f64 = 2e-3;
/// Where the second training is stopped: the epoch, and the number of its batches that are done.
const BREAK: (usize, usize) = (2, 11);

/// One epoch.
pub struct Epoch {
    pub steps: usize,
    pub loss: f64,
    /// How often the host waited for a loss.
    pub waits: u64,
    pub scores: Scores,
}

/// Both trainings.
pub struct Training {
    pub trees: usize,
    pub unseen: usize,
    pub epochs: Vec<Epoch>,
    /// Tensors of network and optimizer, and how many differ between the two trainings.
    pub tensors: usize,
    pub differ: usize,
}

/// The trees, and how they are split.
struct Trees(Forest);

struct Run {
    model: PointNet,
    optimizer: Box<dyn Optimizer>,
    step: u64,
}

pub fn run(answer: &Lesson04, seed: u64) -> Result<Training> {
    let forest = Trees(Forest::open(Config {
        dropout: 0.3,
        ..short::small(POINTS, seed)
    })?);
    let mut whole = forest.begin()?;
    let mut epochs = Vec::new();
    let mut saved = None;
    for epoch in 0..EPOCHS {
        let todo = forest.todo(epoch);
        let before = OnDevice::waits();
        let parts = if epoch == BREAK.0 {
            todo.split_at(BREAK.1)
        } else {
            todo.split_at(0)
        };
        // In the epoch of the interruption, the content of a checkpoint is copied, and training continues.
        let first = forest.steps(answer, &mut whole, epoch, parts.0)?;
        if epoch == BREAK.0 {
            saved = Some((whole.saved(seed)?, whole.step));
        }
        let rest = forest.steps(answer, &mut whole, epoch, parts.1)?;
        let (a, b) = (parts.0.len() as f64, parts.1.len() as f64);
        epochs.push(Epoch {
            steps: todo.len(),
            loss: (first * a + rest * b) / (a + b),
            waits: OnDevice::waits() - before,
            scores: forest.scores(answer, &whole.model)?,
        });
    }
    let (tensors, differ) = match saved {
        Some((saved, step)) => {
            let other = forest.resumed(answer, &saved, step)?;
            whole.compare(&other)?
        }
        None => (0, 0),
    };
    Ok(Training {
        trees: forest.0.split.train.len(),
        unseen: forest.0.unseen().len(),
        epochs,
        tensors,
        differ,
    })
}

impl Trees {
    fn begin(&self) -> Result<Run> {
        let model = self.0.model()?;
        Ok(Run {
            optimizer: OptimConfig::adamw().build(model.params())?,
            model,
            step: 0,
        })
    }

    fn todo(&self, epoch: usize) -> Vec<Vec<usize>> {
        batches(&self.0.order(epoch as u64), BATCH, true)
    }

    /// The steps over `todo`, by exercises 4.2 and 4.5.
    fn steps(&self, answer: &Lesson04, run: &mut Run, epoch: usize, todo: &[Vec<usize>]) -> Result<f64> {
        let mut one = |records: &Vec<usize>| -> Result<(OnDevice, u64)> {
            let (points, labels) = self.0.batch(records, epoch as u64)?.to_device(&self.0.device)?;
            let pass = Pass::train(self.0.config.seed, run.step);
            run.step += 1;
            let (model, optimizer) = (&run.model, &mut *run.optimizer);
            let data = (&points, &labels);
            let (loss, _) =
                (answer.train_step)(model, optimizer, data, &Loss::CROSS_ENTROPY, &pass, RATE, 1.0)?;
            Ok((OnDevice::new(&loss)?, records.len() as u64))
        };
        let mut steps = todo
            .iter()
            .map(|records| one(records).map_err(|e| Error::Msg(format!("{e:#}"))));
        Ok((answer.mean_loss)(&mut steps)?)
    }

    /// The scores on trees of other plots, by exercises 4.3 and 4.4.
    fn scores(&self, answer: &Lesson04, model: &PointNet) -> Result<Scores> {
        let unseen = self.0.unseen();
        let collate = Collate {
            augment: Augment::NONE,
            ..self.0.collate()
        };
        let (mut truth, mut named) = (Vec::new(), Vec::new());
        for records in batches(&unseen, 64, false) {
            let batch = collate.batch(&records, 0)?;
            truth.extend_from_slice(&batch.labels);
            let (points, _) = batch.to_device(&self.0.device)?;
            let said: Vec<u32> = (answer.probabilities)(model, &points)?.argmax(1)?.to_vec1()?;
            named.extend(said);
        }
        Ok((answer.scores)(&truth, &named, self.0.data.species.len()))
    }

    /// A new run, resumed by exercise 4.7 and trained to the end.
    fn resumed(&self, answer: &Lesson04, saved: &Saved, step: u64) -> Result<Run> {
        let mut run = self.begin()?;
        let (model, optimizer) = (&run.model, &mut *run.optimizer);
        let rest = (answer.resume_batches)(saved, model, optimizer, &self.0.split.train, BATCH)?;
        run.step = step;
        self.steps(answer, &mut run, saved.epoch, &rest)?;
        for epoch in saved.epoch + 1..EPOCHS {
            self.steps(answer, &mut run, epoch, &self.todo(epoch))?;
        }
        Ok(run)
    }
}

impl Run {
    fn saved(&self, seed: u64) -> Result<Saved> {
        Ok(Saved {
            model: self.model.to_map()?.into_iter().collect(),
            optimizer: self.optimizer.state()?.into_iter().collect(),
            seed,
            epoch: BREAK.0,
            batch: BREAK.1,
        })
    }

    /// The number of tensors, and how many of them are not bit-identical.
    fn compare(&self, other: &Self) -> Result<(usize, usize)> {
        let (own, other) = (self.saved(0)?, other.saved(0)?);
        let bits = |t: &Tensor| -> Result<Vec<u64>> {
            let numbers: Vec<f64> = t.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
            Ok(numbers.into_iter().map(f64::to_bits).collect())
        };
        let differ = |a: &HashMap<String, Tensor>, b: &HashMap<String, Tensor>| -> Result<usize> {
            let mut count = 0;
            for (name, t) in a {
                let same = b.get(name).map(&bits).transpose()? == Some(bits(t)?);
                count += usize::from(!same);
            }
            Ok(count)
        };
        let count = own.model.len() + own.optimizer.len();
        let off = differ(&own.model, &other.model)? + differ(&own.optimizer, &other.optimizer)?;
        Ok((count, off))
    }
}

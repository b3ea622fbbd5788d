//! Short trainings of a small PointNet by the trainer's own step, on trees of the built-in forest.

use std::cell::Cell;

use anyhow::Result;
use candle_core::{DType, Device, Var};
use canopy::{
    kernels::{Pass, cross_entropy},
    loader::{Augment, Batch, Collate, Features, Frame, batches, epoch_order},
    model::{Kind, PointNet, PointNetConfig},
    optim::{Optimizer, SgdConfig, random_directions},
    train::{EvaluateOptions, Loss, evaluate, train_step},
};
use canopy_data::{
    Dataset, builtin, cache_folder,
    split::{self, Shares, Split},
};
use lesson07::Lesson07;

use super::pieces::Stepper;

/// Points of a cloud.
pub const POINTS: usize = 128;
/// Passes over the trees of each training.
pub const EPOCHS: usize = 12;
/// The batch that the base rates belong to.
pub const REFERENCE: usize = 16;
/// Clouds that the loss around the end is measured on.
const LOOKED_AT: usize = 128;
const LOSS: Loss = Loss {
    smoothing: 0.0,
    class_weights: None,
    orthogonality: 0.0,
};

/// How a batch size is met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cure {
    /// The rate of the reference batch.
    None,
    /// The rate times batch/reference, at once.
    Scaled,
    /// The same after a warm-up.
    WarmUp,
    /// LARS, after a warm-up.
    Lars,
    /// LAMB, after a warm-up.
    Lamb,
}

impl Cure {
    pub const ALL: [Self; 5] = [Self::None, Self::Scaled, Self::WarmUp, Self::Lars, Self::Lamb];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "same rate",
            Self::Scaled => "scaled",
            Self::WarmUp => "scaled, warm-up",
            Self::Lars => "LARS",
            Self::Lamb => "LAMB",
        }
    }

    /// The rate that does well at [`REFERENCE`].
    fn base(self) -> f64 {
        match self {
            Self::None | Self::Scaled | Self::WarmUp => 0.02,
            Self::Lars => 0.25,
            Self::Lamb => 0.004,
        }
    }
}

/// The trees and how they are split.
pub struct Forest {
    pub data: Dataset,
    pub split: Split,
    pub seed: u64,
}

/// What a training came to.
pub struct Trained {
    /// Mean loss of the last epoch; NaN where it came apart.
    pub loss: f64,
    /// Trees of other plots named rightly.
    pub accuracy: f64,
    pub steps: u64,
    pub model: PointNet,
}

impl Forest {
    /// Split by plots, as `canopy train` splits.
    pub fn open(seed: u64) -> Result<Self> {
        let loaded = builtin::load(&builtin::Config::default(), &cache_folder(), &|done, total| {
            if done == 0 {
                eprintln!("growing the forest, {total} scans (once; it is kept)");
            }
        })?;
        let data = loaded.dataset;
        let shares = Shares {
            validation: 0.1,
            test: 0.25,
        };
        let split = split::by_plot(&data, shares, 1)?;
        Ok(Self { data, split, seed })
    }

    pub fn model(&self) -> Result<PointNet> {
        let config = PointNetConfig {
            kind: Kind::Vanilla,
            classes: self.data.species.len(),
            width: 4,
            dropout: 0.0,
            ..PointNetConfig::default()
        };
        PointNet::new(&config, &Device::Cpu, DType::F32, self.seed)
    }

    /// Clouds of `records`, as epoch `epoch` sees them.
    pub fn batch(&self, records: &[usize], epoch: u64) -> Result<Batch> {
        let collate = Collate {
            data: self.data.clone(),
            points: POINTS,
            frame: Frame::Sphere,
            features: Features::Xyz,
            augment: Augment {
                turn: true,
                jitter: 0.005,
                ..Augment::NONE
            },
            seed: self.seed,
        };
        collate.batch(records, epoch)
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        let order = epoch_order(self.split.train.len(), self.seed, epoch);
        order.into_iter().map(|i| self.split.train[i]).collect()
    }

    /// Trains [`EPOCHS`] epochs in batches of `size`: the rate by exercises 7.1 and 7.3, the step by 7.5 and 7.6.
    pub fn train(&self, answer: &Lesson07, cure: Cure, size: usize) -> Result<Trained> {
        let model = self.model()?;
        let mut optimizer = optimizer(*answer, cure, &model)?;
        let epoch_steps = (self.split.train.len() / size).max(1) as u64;
        let rate = |step: u64| {
            let reference = if cure == Cure::None { size } else { REFERENCE };
            let warm = match cure {
                Cure::None | Cure::Scaled => 0,
                _ => 2 * epoch_steps,
            };
            // LARS and LAMB measure steps by the weights: their rates grow with the root, as You et al. (2020) have it.
            let (batch, reference) = match cure {
                Cure::Lars | Cure::Lamb => (root(size), root(reference)),
                _ => (size, reference),
            };
            let rate = (answer.scaled_warmup)(step, warm, cure.base(), batch, reference);
            let falls = canopy::schedule::Decay::Milestones(vec![8 * epoch_steps, 10 * epoch_steps]);
            (answer.decayed)(&falls, step, 0.3, rate)
        };
        let (mut step, mut last) = (0, f64::NAN);
        for epoch in 0..EPOCHS as u64 {
            let (mut sum, mut seen) = (0.0, 0);
            for records in batches(&self.order(epoch), size, true) {
                let (points, labels) = self.batch(&records, epoch)?.to_device(&Device::Cpu)?;
                let pass = Pass::train(self.seed, step);
                let pair = (&points, &labels);
                let (loss, _) = train_step(&model, &mut *optimizer, pair, &LOSS, &pass, rate(step), 0.0)?;
                sum += f64::from(loss.to_scalar::<f32>()?) * records.len() as f64;
                seen += records.len();
                step += 1;
            }
            last = sum / seen as f64;
            if !last.is_finite() {
                break;
            }
        }
        let accuracy = if last.is_finite() {
            self.measure_statistics(&model)?;
            self.accuracy(&model)?
        } else {
            0.0
        };
        Ok(Trained {
            loss: last,
            accuracy,
            steps: step,
            model,
        })
    }

    /// Batch norm's running statistics follow training slowly, and a large batch has few steps: they are measured anew
    /// with the weights as they are, in batches of 64, or evaluation would see those of an earlier network.
    fn measure_statistics(&self, model: &PointNet) -> Result<()> {
        for epoch in 0..4 {
            for records in batches(&self.order(epoch), 64, true) {
                let (points, _) = self.batch(&records, epoch)?.to_device(&Device::Cpu)?;
                model.forward(&points, &Pass::train(self.seed, epoch))?;
            }
        }
        Ok(())
    }

    fn accuracy(&self, model: &PointNet) -> Result<f64> {
        let options = EvaluateOptions {
            points: POINTS,
            frame: Frame::Sphere,
            features: Features::Xyz,
            batch: 64,
            votes: 1,
            workers: 1,
            plain: false,
            device: &Device::Cpu,
        };
        let unseen = [self.split.test.clone(), self.split.validation.clone()].concat();
        let said = evaluate::predict(model, &self.data, &unseen, &options, &mut |_| ())?;
        Ok(said.scores("unseen", &self.data.species).accuracy)
    }

    /// The loss along a random direction by exercise 7.8, [`ALPHAS`] by loss; batch norm by its running statistics.
    pub fn around(&self, answer: &Lesson07, model: &PointNet) -> Result<Vec<(f64, f64)>> {
        let params: Vec<Var> = model.params().into_iter().map(|(_, var)| var).collect();
        let records: Vec<usize> = self.order(0).into_iter().take(LOOKED_AT).collect();
        let (points, labels) = self.batch(&records, 0)?.to_device(&Device::Cpu)?;
        let mut sums = vec![0.0; ALPHAS.len()];
        for seed in 0..DIRECTIONS {
            let directions = random_directions(&params, self.seed + 1000 * seed)?;
            let losses = (answer.loss_along)(&params, &directions, &ALPHAS, &mut || {
                let seen = model.forward(&points, &Pass::eval()).map_err(said)?;
                Ok(f64::from(
                    cross_entropy(&seen.logits, &labels, 0.0, None)?.to_scalar::<f32>()?,
                ))
            })?;
            sums.iter_mut()
                .zip(losses)
                .for_each(|(s, l)| *s += l / DIRECTIONS as f64);
        }
        Ok(ALPHAS.into_iter().zip(sums).collect())
    }

    /// A range test by exercise 7.4 on SGD: rates that grow by a constant factor, a batch each.
    pub fn range(&self, answer: &Lesson07) -> Result<canopy::schedule::RangeFound> {
        let model = self.model()?;
        let mut optimizer = optimizer(*answer, Cure::None, &model)?;
        let size = 32;
        let orders: Vec<Vec<usize>> = (0..6).flat_map(|e| batches(&self.order(e), size, true)).collect();
        let rates: Vec<f64> = (0..orders.len())
            .map(|i| 1e-4 * 1e5f64.powf(i as f64 / (orders.len() - 1) as f64))
            .collect();
        let (step, failed) = (Cell::new(0), Cell::new(None));
        let mut one = |rate: f64| -> Result<f64> {
            let at = step.replace(step.get() + 1);
            let records = orders.get(at).map_or(&[][..], Vec::as_slice);
            let (points, labels) = self.batch(records, 0)?.to_device(&Device::Cpu)?;
            let pass = Pass::train(self.seed, at as u64);
            let (loss, _) = train_step(
                &model,
                &mut *optimizer,
                (&points, &labels),
                &LOSS,
                &pass,
                rate,
                0.0,
            )?;
            Ok(f64::from(loss.to_scalar::<f32>()?))
        };
        let found = (answer.range_test)(&rates, 0.9, 2.0, &mut |rate| {
            one(rate).unwrap_or_else(|e| {
                failed.set(Some(e));
                f64::NAN
            })
        });
        match failed.take() {
            Some(e) => Err(e),
            None => Ok(found),
        }
    }
}

/// Where the loss is looked at.
pub const ALPHAS: [f64; 9] = [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0];
/// Random directions whose losses are averaged.
pub const DIRECTIONS: u64 = 4;

/// How much the loss rises half the weights' length away, on the mean of both sides.
pub fn sharpness(around: &[(f64, f64)]) -> f64 {
    let at = |alpha: f64| around.iter().find(|a| a.0 == alpha).map_or(f64::NAN, |a| a.1);
    (at(-0.5) + at(0.5)) / 2.0 - at(0.0)
}

fn optimizer(answer: Lesson07, cure: Cure, model: &PointNet) -> Result<Box<dyn Optimizer>> {
    let params = model.params();
    let vars = params.iter().map(|(_, var)| var.clone()).collect();
    Ok(match cure {
        Cure::Lars => Box::new(Stepper::lars(answer, vars)?),
        Cure::Lamb => Box::new(Stepper::lamb(answer, vars)?),
        _ => {
            let config = SgdConfig {
                momentum: 0.9,
                ..SgdConfig::default()
            };
            canopy::optim::OptimConfig::Sgd(config).build(params)?
        }
    })
}

/// The root of a batch size, times 100 so that it stays a whole number.
fn root(size: usize) -> usize {
    (1e4 * size as f64).sqrt().round() as usize
}

/// An error of the trainer, as candle's.
pub fn said(e: anyhow::Error) -> candle_core::Error {
    candle_core::Error::Msg(format!("{e:#}"))
}

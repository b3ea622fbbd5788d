//! Short trainings of a small PointNet by the trainer's own step, on trees of the built-in forest.

use std::cell::Cell;

use anyhow::Result;
use candle_core::Var;
use canopy::{
    kernels::{Pass, cross_entropy},
    loader::batches,
    model::PointNet,
    optim::{Optimizer, SgdConfig},
    train::{
        Loss,
        short::{self, Forest, Learner},
    },
};
use lesson07::Lesson07;

use super::{directions::random_directions, stepper::Stepper};

/// Points of a cloud.
pub const POINTS: usize = 128;
/// Passes over the trees of each training.
pub const EPOCHS: usize = 36;
/// The batch that the base rates belong to.
pub const REFERENCE: usize = 16;
/// Clouds on which the loss around the trained weights is measured.
const LOOKED_AT: usize = 128;
/// How training is adapted to the batch size.
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

/// The trees, and how they are split.
pub struct Trees(pub Forest);

/// The result of a training.
pub struct Trained {
    /// Mean loss of the last epoch; NaN if it diverged.
    pub loss: f64,
    /// Accuracy on trees of other plots.
    pub accuracy: f64,
    pub steps: u64,
    /// α and the loss there; empty if the training diverged.
    pub around: Vec<(f64, f64)>,
}

impl Trees {
    pub fn open(seed: u64) -> Result<Self> {
        Forest::open(short::small(POINTS, seed)).map(Self)
    }

    fn learner(&self, answer: &Lesson07, cure: Cure) -> Result<Learner> {
        let model = self.0.model()?;
        let optimizer = optimizer(*answer, cure, &model)?;
        Ok(Learner {
            seed: self.0.config.seed,
            ..Learner::new(model, optimizer, Loss::CROSS_ENTROPY)
        })
    }

    /// Trains [`EPOCHS`] epochs in batches of `size`: the rate by exercises 7.1 and 7.3, the step by 7.5 and 7.6.
    pub fn train(&self, answer: &Lesson07, cure: Cure, size: usize) -> Result<Trained> {
        let mut learner = self.learner(answer, cure)?;
        let epoch_steps = (self.0.split.train.len() / size).max(1) as u64;
        let mut rate = |step: u64| {
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
            let falls = canopy::schedule::Decay::Milestones(vec![24 * epoch_steps, 30 * epoch_steps]);
            (answer.decayed)(&falls, step, 0.3, rate)
        };
        let mut last = f64::NAN;
        for epoch in 0..EPOCHS as u64 {
            last = learner.epoch(&mut self.0.epoch(epoch, size), &mut rate)?;
            if !last.is_finite() {
                break;
            }
        }
        let (mut accuracy, mut around) = (0.0, Vec::new());
        if last.is_finite() {
            self.measure_statistics(&learner.model)?;
            accuracy = self.0.accuracy(&learner.model, &self.0.unseen())?;
            around = self.around(answer, &learner.model)?;
        }
        Ok(Trained {
            loss: last,
            accuracy,
            steps: learner.steps,
            around,
        })
    }

    /// Recomputes the running statistics of batch norm with the current weights. With large batches there are too few steps
    /// for the running averages to keep up with the weights.
    fn measure_statistics(&self, model: &PointNet) -> Result<()> {
        for epoch in 0..4 {
            for batch in self.0.epoch(epoch, 64) {
                model.forward(&batch?.0, &Pass::train(self.0.config.seed, epoch))?;
            }
        }
        Ok(())
    }

    /// The loss along a random direction by exercise 7.8, [`ALPHAS`] by loss; batch norm by its running statistics.
    fn around(&self, answer: &Lesson07, model: &PointNet) -> Result<Vec<(f64, f64)>> {
        let params: Vec<Var> = model.params().into_iter().map(|(_, var)| var).collect();
        let records: Vec<usize> = self.0.order(0).into_iter().take(LOOKED_AT).collect();
        let (points, labels) = self.0.batch(&records, 0)?.to_device(&self.0.device)?;
        let mut sums = vec![0.0; ALPHAS.len()];
        for seed in 0..DIRECTIONS {
            let directions = random_directions(&params, self.0.config.seed + 1000 * seed)?;
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

    /// A range test of SGD by exercise 7.4: rates that grow by a constant factor, with one batch each.
    pub fn range(&self, answer: &Lesson07) -> Result<canopy::schedule::RangeFound> {
        let mut learner = self.learner(answer, Cure::None)?;
        let size = 32;
        let orders: Vec<Vec<usize>> = (0..6)
            .flat_map(|e| batches(&self.0.order(e), size, true))
            .collect();
        let rates: Vec<f64> = (0..orders.len())
            .map(|i| 1e-4 * 1e5f64.powf(i as f64 / (orders.len() - 1) as f64))
            .collect();
        let failed = Cell::new(None);
        let mut one = |rate: f64| -> Result<f64> {
            let records = orders.get(learner.steps as usize).map_or(&[][..], Vec::as_slice);
            let (points, labels) = self.0.batch(records, 0)?.to_device(&self.0.device)?;
            let loss = learner.step((&points, &labels), rate)?;
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

/// The positions at which the loss is measured.
pub const ALPHAS: [f64; 9] = [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0];
/// Random directions whose losses are averaged.
pub const DIRECTIONS: u64 = 4;

/// How much the loss rises at a distance of half the weights' norm, averaged over both sides.
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

/// The square root of a batch size, times 100, so that it can be a whole number.
fn root(size: usize) -> usize {
    (1e4 * size as f64).sqrt().round() as usize
}

/// An error of the trainer as one of candle's.
pub fn said(e: anyhow::Error) -> candle_core::Error {
    candle_core::Error::Msg(format!("{e:#}"))
}

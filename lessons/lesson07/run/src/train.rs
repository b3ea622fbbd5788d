//! Short trainings of a small PointNet by the trainer's own step, on trees of the built-in forest.

use std::collections::HashMap;

use anyhow::{Result, bail};
use candle_core::{Tensor, Var};
use canopy::{
    kernels::{Pass, cross_entropy},
    loader::batches,
    model::PointNet,
    optim::{AdamState, LambConfig, LarsConfig, OptimConfig, Optimizer, SgdConfig},
    schedule::{Decay, RangeFound},
    train::{
        Loss,
        short::{self, Forest, Learner},
    },
};
use canopy_data::Purpose;
use lesson07::Lesson07;

/// Points of a cloud.
pub const POINTS: usize = 128;
/// Passes over the trees of each training.
pub const EPOCHS: usize = 36;
/// The batch that the base rates belong to.
const REFERENCE: usize = 16;
/// Clouds on which the loss around the trained weights is measured.
const LOOKED_AT: usize = 128;
/// Random directions whose losses are averaged.
const DIRECTIONS: u64 = 4;

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

/// The result of a training.
pub struct Trained {
    /// Mean loss of the last epoch; NaN if it diverged.
    pub loss: f64,
    /// Accuracy on trees of other plots; 0 if it diverged.
    pub accuracy: f64,
    /// How much the loss rises around the trained weights; NaN if it diverged.
    pub sharpness: f64,
}

/// The trees, how they are split, and the functions that train on them.
pub struct Trees {
    pub forest: Forest,
    pub answer: Lesson07,
}

impl Trees {
    pub fn open(answer: &Lesson07, seed: u64) -> Result<Self> {
        Ok(Self {
            forest: Forest::open(short::small(POINTS, seed))?,
            answer: *answer,
        })
    }

    fn learner(&self, cure: Cure) -> Result<Learner> {
        let model = self.forest.model()?;
        let optimizer = optimizer(self.answer, cure, &model)?;
        Ok(Learner {
            seed: self.forest.config.seed,
            ..Learner::new(model, optimizer, Loss::CROSS_ENTROPY)
        })
    }

    /// Trains [`EPOCHS`] epochs in batches of `size`: the rate by exercises 7.1 and 7.3, the step by 7.5 and 7.6.
    pub fn train(&self, cure: Cure, size: usize) -> Result<Trained> {
        let mut learner = self.learner(cure)?;
        let epoch_steps = (self.forest.split.train.len() / size).max(1) as u64;
        let (batch, reference, warmup) = match cure {
            Cure::None => (size, size, 0),
            Cure::Scaled => (size, REFERENCE, 0),
            Cure::WarmUp => (size, REFERENCE, 2 * epoch_steps),
            // LARS and LAMB measure steps by the weights: their rates grow with the root, as You et al. (2020) have it.
            Cure::Lars | Cure::Lamb => (root(size), root(REFERENCE), 2 * epoch_steps),
        };
        let decay = Decay::Milestones(vec![24 * epoch_steps, 30 * epoch_steps]);
        let mut rate = |step: u64| {
            let rate = (self.answer.scaled_warmup)(step, warmup, cure.base(), batch, reference);
            (self.answer.decayed)(&decay, step, 0.3, rate)
        };
        let mut loss = 0.0;
        for epoch in 0..EPOCHS as u64 {
            loss = learner.epoch(&mut self.forest.epoch(epoch, size), &mut rate)?;
            if !loss.is_finite() {
                let (accuracy, sharpness) = (0.0, f64::NAN);
                return Ok(Trained {
                    loss,
                    accuracy,
                    sharpness,
                });
            }
        }
        self.measure_statistics(&learner.model)?;
        Ok(Trained {
            loss,
            accuracy: self.forest.accuracy(&learner.model, &self.forest.unseen())?,
            sharpness: self.sharpness(&learner.model)?,
        })
    }

    /// Recomputes the running statistics of batch norm with the current weights. With large batches there are too few
    /// steps for the running averages to keep up with the weights.
    fn measure_statistics(&self, model: &PointNet) -> Result<()> {
        for epoch in 0..4 {
            for batch in self.forest.epoch(epoch, 64) {
                model.forward(&batch?.0, &Pass::train(self.forest.config.seed, epoch))?;
            }
        }
        Ok(())
    }

    /// How much the loss rises at a distance of half the weights' norm by exercise 7.8, averaged over both sides of
    /// several random directions. Batch norm uses its running statistics.
    fn sharpness(&self, model: &PointNet) -> Result<f64> {
        let params: Vec<Var> = model.params().into_iter().map(|(_, var)| var).collect();
        let records: Vec<usize> = self.forest.order(0).into_iter().take(LOOKED_AT).collect();
        let (points, labels) = self.forest.batch(&records, 0)?.to_device(&self.forest.device)?;
        let mut means = [0.0; 3];
        for seed in 0..DIRECTIONS {
            let directions = random_directions(&params, self.forest.config.seed + 1000 * seed)?;
            let losses = (self.answer.loss_along)(&params, &directions, &[-0.5, 0.0, 0.5], &mut || {
                let logits = model.forward(&points, &Pass::eval()).map_err(said)?.logits;
                let loss = cross_entropy(&logits, &labels, 0.0, None)?;
                Ok(f64::from(loss.to_scalar::<f32>()?))
            })?;
            for (mean, loss) in means.iter_mut().zip(losses) {
                *mean += loss / DIRECTIONS as f64;
            }
        }
        let [before, here, after] = means;
        Ok((before + after) / 2.0 - here)
    }

    /// A range test of SGD by exercise 7.4: rates that grow by a constant factor, with one batch of 32 each.
    pub fn range(&self) -> Result<RangeFound> {
        let mut learner = self.learner(Cure::None)?;
        let of_epoch = |epoch| batches(&self.forest.order(epoch), 32, true);
        let batches: Vec<Vec<usize>> = (0..6).flat_map(of_epoch).collect();
        let share = |i| i as f64 / (batches.len() - 1) as f64;
        let rates: Vec<f64> = (0..batches.len()).map(|i| 1e-4 * 1e5f64.powf(share(i))).collect();
        let mut batches = batches.iter();
        let mut step = |rate: f64| -> Result<f64> {
            let records = batches.next().map_or(&[][..], Vec::as_slice);
            let (points, labels) = self.forest.batch(records, 0)?.to_device(&self.forest.device)?;
            let loss = learner.step((&points, &labels), rate)?;
            Ok(f64::from(loss.to_scalar::<f32>()?))
        };
        let mut failed = None;
        let found = (self.answer.range_test)(&rates, 0.9, 2.0, &mut |rate| {
            step(rate).unwrap_or_else(|error| {
                failed = Some(error);
                f64::NAN
            })
        });
        failed.map_or(Ok(found), Err)
    }
}

/// A tensor of standard normal numbers for each of `params`. The same `seed` gives the same numbers.
pub fn random_directions(params: &[Var], seed: u64) -> candle_core::Result<Vec<Tensor>> {
    let of = |(stream, param): (usize, &Var)| {
        let mut random = Purpose::Direction.stream(seed, stream as u64);
        let numbers: Vec<f32> = (0..param.elem_count()).map(|_| random.normal() as f32).collect();
        Tensor::from_vec(numbers, param.shape(), param.device())?.to_dtype(param.dtype())
    };
    params.iter().enumerate().map(of).collect()
}

/// A step of exercise 7.5 or 7.6, from gradients and rate, as an optimizer of the trainer.
struct Stepper<F>(F);

impl<F: FnMut(&[Tensor], f64) -> candle_core::Result<()> + Send> Optimizer for Stepper<F> {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        Ok((self.0)(grads, lr)?)
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        bail!("the experiment saves nothing")
    }

    fn load_state(&mut self, _: &HashMap<String, Tensor>) -> Result<()> {
        bail!("the experiment resumes nothing")
    }
}

/// SGD with momentum 0.9, LARS with momentum 0.9, or LAMB as in the paper.
fn optimizer(answer: Lesson07, cure: Cure, model: &PointNet) -> Result<Box<dyn Optimizer>> {
    let params = model.params();
    let vars: Vec<Var> = params.iter().map(|(_, var)| var.clone()).collect();
    let mut state = AdamState::zeros_like(vars.iter())?;
    Ok(match cure {
        Cure::Lars => {
            let config = LarsConfig {
                trust: 0.02,
                ..LarsConfig::default()
            };
            Box::new(Stepper(move |grads: &[Tensor], lr| {
                (answer.lars_step)(&vars, grads, &state.mean, lr, &config)
            }))
        }
        Cure::Lamb => Box::new(Stepper(move |grads: &[Tensor], lr| {
            (answer.lamb_step)(&vars, grads, &mut state, lr, &LambConfig::default())
        })),
        _ => OptimConfig::Sgd(SgdConfig::default()).build(params)?,
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

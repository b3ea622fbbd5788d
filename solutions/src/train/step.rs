//! The training step that everyone takes: the run loop, ranks, short trainings, benchmarks.
//!
//! ```text
//! micro-batches → forward, loss × scale → backward, "gradient i is complete" → accumulate → reduce over ranks
//!   → unscale, found_inf → clip by the norm → optimizer, or skip → update the scale
//! ```
//!
//! Nothing in it waits for the device, except that a loss scaler must know whether a gradient overflowed before the
//! optimizer may step, as in PyTorch's `GradScaler`.

use anyhow::{Result, ensure};
use candle_core::{DType, Device, Tensor};

use super::{
    Figures, Loss, MicroBatch, Objective,
    carrier::ErrorCarrier,
    loss,
    ranks::{Reduction, clip_and_step},
};
use crate::{
    kernels::{self, Pass},
    model::PointNet,
    optim::{Optimizer, accumulated},
    precision::{GradScaler, LossScale},
    profile,
};

/// The outcome of a step.
#[derive(Debug)]
pub struct Stepped {
    /// Loss (unscaled) and correct predictions of each micro-batch.
    pub figures: Vec<Figures>,
    /// Whether the optimizer stepped. Otherwise a gradient was infinite or NaN, and weights and optimizer are unchanged.
    pub taken: bool,
}

/// A model, its optimizer, and how a step is taken.
pub struct Step<'a> {
    /// The model.
    pub model: &'a PointNet,
    /// Its optimizer.
    pub optimizer: &'a mut dyn Optimizer,
    /// The objective.
    pub loss: &'a dyn Objective,
    /// Maximum norm of all gradients together; 0: not clipped.
    pub clip: f64,
    /// Scales the loss; none: it is not scaled.
    pub scaler: Option<&'a mut GradScaler<dyn LossScale>>,
    /// Averages the gradients over the ranks; none: there is one rank.
    pub reduce: Option<&'a mut Reduction>,
}

impl<'a> Step<'a> {
    /// Creates a step of one rank, without clipping and loss scaling.
    pub fn new(model: &'a PointNet, optimizer: &'a mut dyn Optimizer, loss: &'a dyn Objective) -> Self {
        Self {
            model,
            optimizer,
            loss,
            clip: 0.0,
            scaler: None,
            reduce: None,
        }
    }

    /// Takes one optimizer step on the gradients of the mean loss over `micro` and over all ranks. Batch normalisation
    /// (and with it the orthogonality term) sees one micro-batch at a time.
    ///
    /// # Errors
    /// Returns an error if `micro` is empty, candle fails, another rank fails, or gradients overflow at the minimum loss
    /// scale.
    pub fn take(&mut self, micro: &[MicroBatch], learning_rate: f64) -> Result<Stepped> {
        ensure!(!micro.is_empty(), "a step needs at least one micro-batch");
        let mut figures = Vec::with_capacity(micro.len());
        // The scaler is taken out, so that the gradients can borrow the rest.
        let mut scaler = self.scaler.take();
        let grads = match &mut scaler {
            None => self.gradients(micro, 1.0, &mut figures),
            Some(scaler) => {
                let mut carrier = ErrorCarrier::default();
                // The scale multiplies the seed of the backward pass, 1. It is on the host, so reading it does not wait.
                let one = Tensor::new(1f32, &Device::Cpu)?;
                let scaled = scaler.gradients(&one, &mut |seed| {
                    let seed = f64::from(seed.to_scalar::<f32>()?);
                    carrier.keep(self.gradients(micro, seed, &mut figures))
                });
                carrier.restore(scaled)
            }
        };
        let result = grads.and_then(|grads| self.update(grads, scaler.as_deref_mut(), learning_rate));
        self.scaler = scaler;
        Ok(Stepped {
            figures,
            taken: result?,
        })
    }

    /// Clips and steps unless a gradient overflowed, then updates the scale. Returns whether it stepped.
    fn update(
        &mut self,
        grads: Vec<Tensor>,
        mut scaler: Option<&mut GradScaler<dyn LossScale>>,
        learning_rate: f64,
    ) -> Result<bool> {
        if let (Some(scaler), Some(reduce)) = (&mut scaler, &self.reduce) {
            scaler.agree(|own| reduce.any_overflow(own))?;
        }
        let (optimizer, reduce, clip) = (&mut *self.optimizer, &mut self.reduce, self.clip);
        let mut step = |grads: &[Tensor]| {
            let _span = profile::work("optimizer");
            optimizer.step(grads, learning_rate)
        };
        let update = || match reduce {
            Some(reduce) => reduce.update(grads, clip, &mut step),
            None => clip_and_step(grads, clip, &mut step),
        };
        match scaler {
            Some(scaler) => scaler.step(update),
            None => update().map(|()| true),
        }
    }

    /// Returns the gradients of `seed` × the mean loss over all micro-batches and ranks, in the order of the parameters.
    fn gradients(
        &mut self,
        micro: &[MicroBatch],
        seed: f64,
        figures: &mut Vec<Figures>,
    ) -> Result<Vec<Tensor>> {
        let share = self.reduce.as_ref().map(|reduce| reduce.share);
        let own_weight: f64 = micro.iter().map(|m| m.weight).sum();
        let own_clouds: usize = micro.iter().map(|m| m.clouds).sum();
        let count = micro.len() as f64;
        // With ranks the weights are factors of the losses, because synchronised batch norm mixes gradients of the ranks.
        let weights: Vec<f64> = match share {
            None => micro.iter().map(|m| m.weight).collect(),
            Some(_) => vec![1.0; micro.len()],
        };
        // What the loss and the orthogonality term are multiplied by, and the weight of the loss in the epoch's sum.
        let factors = |m: &MicroBatch| match share {
            None => {
                let penalty = (m.clouds as f64 / own_clouds as f64) / (m.weight / own_weight);
                (1.0, penalty, m.clouds as f64)
            }
            Some(s) => {
                let (ranks, clouds) = (count * s.world_size as f64, s.clouds as f64);
                let penalty = ranks * m.clouds as f64 / clouds;
                (ranks * m.weight / s.weight, penalty, clouds / ranks)
            }
        };
        let (model, loss) = (self.model, self.loss);
        // Returns what the backward pass starts from.
        let mut forward = |m: &MicroBatch| -> Result<Tensor> {
            let (factor, penalty, counted) = factors(m);
            let (value, correct) = loss::forward(loss, model, m, (factor, penalty))?;
            figures.push(Figures {
                loss: value.detach(),
                correct,
                clouds: m.clouds as u64,
                weight: counted,
            });
            match seed {
                1.0 => Ok(value),
                _ => Ok(kernels::weighted_sum(&[(&value, seed)])?),
            }
        };
        let mut whole = |i: usize| {
            let seeded = forward(&micro[i])?;
            let _span = profile::work("backward");
            model.gradients(&seeded, &micro[i].pass)
        };
        match &mut self.reduce {
            Some(reduce) if reduce.overlaps() => {
                let (last, before) = (micro.len() - 1, &weights[..micro.len() - 1]);
                let held = match before.is_empty() {
                    true => Vec::new(),
                    false => accumulate(before, &mut whole)?,
                };
                let (new, old) = (1.0 / count, (count - 1.0) / count);
                let seeded = forward(&micro[last])?;
                let span = profile::work("backward");
                let mut ready = |parameter, gradient: Tensor| match held.get(parameter) {
                    Some(held) => reduce.ready(parameter, &((held * old)? + (gradient.detach() * new)?)?),
                    None => reduce.ready(parameter, &gradient),
                };
                model.gradients_with(&seeded, &micro[last].pass, &mut ready)?;
                drop(span);
                self.finish(Vec::new())
            }
            _ => {
                let own = accumulate(&weights, &mut whole)?;
                self.finish(own)
            }
        }
    }

    fn finish(&mut self, own: Vec<Tensor>) -> Result<Vec<Tensor>> {
        match &mut self.reduce {
            Some(reduce) => reduce.finish(own),
            None => Ok(own),
        }
    }
}

/// [`accumulated`], with errors that keep their context.
fn accumulate(
    weights: &[f64],
    gradients: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let mut carrier = ErrorCarrier::default();
    let sum = accumulated(weights, &mut |i| carrier.keep(gradients(i)));
    carrier.restore(sum)
}

/// Takes one [`Step`] on one batch: forward, loss, backward, clip, optimizer step. Does not wait for the device.
///
/// `points` `[clouds, points, channels]`, `labels` `[clouds]`. Returns the loss and the number of correct predictions,
/// both f32 scalars still on the device.
pub fn train_step(
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    (points, labels): (&Tensor, &Tensor),
    loss: &Loss,
    pass: &Pass,
    learning_rate: f64,
    clip: f64,
) -> Result<(Tensor, Tensor)> {
    let mut step = Step {
        clip,
        ..Step::new(model, optimizer, loss)
    };
    let micro = MicroBatch::new((points.clone(), labels.clone()), pass.clone());
    let mut stepped = step.take(&[micro], learning_rate)?;
    let figures = stepped.figures.remove(0);
    Ok((figures.loss.to_dtype(DType::F32)?, figures.correct))
}

//! One training step, and figures that are read only when somebody looks.

use anyhow::{Result, bail};
use candle_core::{DType, Tensor};

use super::OnDevice;
use crate::{
    kernels::{self, Operator, Pass},
    model::{PointNet, orthogonality},
    optim::{Optimizer, accumulated, clip_grad_norm},
    profile,
};

/// Loss and hits of each micro-batch, scalars still on the device.
pub(super) type Figures = Vec<(Tensor, Tensor)>;

/// Turns a loss of a pass into the model's gradients.
pub(super) type Walk<'a> = &'a mut dyn FnMut(&Tensor, &Pass) -> Result<Vec<Tensor>>;

/// What the loss is made of.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Label smoothing.
    pub smoothing: f64,
    /// Weight of each class, `[classes]`.
    pub class_weights: Option<Tensor>,
    /// Weight of the orthogonality term.
    pub orthogonality: f64,
}

impl Loss {
    /// The cross-entropy alone.
    pub const CROSS_ENTROPY: Self = Self {
        smoothing: 0.0,
        class_weights: None,
        orthogonality: 0.0,
    };
}

/// How a step over micro-batches is taken.
pub struct StepOptions<'a> {
    /// What is to become small.
    pub loss: &'a Loss,
    /// The pass of a micro-batch, by its number: each draws its own dropout.
    pub pass: &'a dyn Fn(usize) -> Pass,
    /// The optimizer's.
    pub learning_rate: f64,
    /// Greatest norm of all gradients; 0: as they are.
    pub clip: f64,
}

/// Forward, loss, backward, clip, optimizer step. Nothing here waits for the device.
///
/// `points` `[clouds, points, channels]`, `labels` `[clouds]`. Returns the loss and how many were named rightly,
/// both scalars still on the device.
///
/// # Errors
/// candle's.
pub fn train_step(
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    (points, labels): (&Tensor, &Tensor),
    loss: &Loss,
    pass: &Pass,
    learning_rate: f64,
    clip: f64,
) -> Result<(Tensor, Tensor)> {
    let walk = &mut |total: &Tensor, pass: &Pass| model.gradients(total, pass);
    let (total, correct, mut grads) = gradients(model, (points, labels), loss, pass, 1.0, walk)?;
    update(optimizer, &mut grads, learning_rate, clip)?;
    Ok((total, correct))
}

/// As [`train_step`], with the gradients of several micro-batches in one optimizer step: those of the mean loss over all
/// of them, but that batch normalisation (and with it the feature transform's term) sees one at a time. Returns loss and
/// hits of each.
///
/// # Errors
/// candle's; no micro-batch.
pub fn accumulated_step(
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    micro: &[(Tensor, Tensor)],
    options: &StepOptions,
) -> Result<Vec<(Tensor, Tensor)>> {
    let walk = &mut |total: &Tensor, pass: &Pass| model.gradients(total, pass);
    let (figures, mut grads) = accumulated_gradients(model, micro, options.loss, options.pass, walk)?;
    update(optimizer, &mut grads, options.learning_rate, options.clip)?;
    Ok(figures)
}

/// Loss and hits of each micro-batch, and the gradients of all together.
pub(super) fn accumulated_gradients(
    model: &PointNet,
    micro: &[(Tensor, Tensor)],
    loss: &Loss,
    pass: &dyn Fn(usize) -> Pass,
    walk: Walk,
) -> Result<(Figures, Vec<Tensor>)> {
    // A weighted mean over a batch is divided by the weights of its labels; the orthogonality term by its clouds.
    let clouds: Vec<f64> = micro
        .iter()
        .map(|(_, labels)| labels.elem_count() as f64)
        .collect();
    let weights = match &loss.class_weights {
        // Of one batch the weight is divided by itself: not worth waiting for.
        Some(of_class) if micro.len() > 1 => {
            let of = |(_, labels): &(Tensor, Tensor)| {
                of_class
                    .index_select(labels, 0)?
                    .sum_all()?
                    .to_dtype(DType::F64)?
                    .to_scalar()
            };
            micro.iter().map(of).collect::<candle_core::Result<Vec<f64>>>()?
        }
        _ => clouds.clone(),
    };
    let (all, all_clouds): (f64, f64) = (weights.iter().sum(), clouds.iter().sum());
    let mut figures = Vec::with_capacity(micro.len());
    let grads = accumulated(&weights, &mut |i| {
        let (points, labels) = &micro[i];
        let penalty = (clouds[i] / all_clouds) / (weights[i] / all);
        let (total, correct, grads) = gradients(model, (points, labels), loss, &pass(i), penalty, walk)
            .map_err(|e| candle_core::Error::Msg(format!("{e:#}")))?;
        figures.push((total, correct));
        Ok(grads)
    })?;
    Ok((figures, grads))
}

fn update(optimizer: &mut dyn Optimizer, grads: &mut [Tensor], learning_rate: f64, clip: f64) -> Result<()> {
    if clip > 0.0 {
        let _span = profile::work("clip");
        clip_grad_norm(grads, clip)?;
    }
    let _span = profile::work("optimizer");
    optimizer.step(grads, learning_rate)
}

/// Loss, hits and gradients of one batch; the orthogonality term's weight is multiplied by `penalty`.
fn gradients(
    model: &PointNet,
    (points, labels): (&Tensor, &Tensor),
    loss: &Loss,
    pass: &Pass,
    penalty: f64,
    walk: Walk,
) -> Result<(Tensor, Tensor, Vec<Tensor>)> {
    let (total, correct) = forward_loss(model, (points, labels), loss, pass, (1.0, penalty))?;
    let _span = profile::work("backward");
    let grads = walk(&total, pass)?;
    Ok((total.detach(), correct, grads))
}

/// Loss and hits of one batch: the cross-entropy and the orthogonality term, each multiplied by its factor.
pub(super) fn forward_loss(
    model: &PointNet,
    (points, labels): (&Tensor, &Tensor),
    loss: &Loss,
    pass: &Pass,
    (factor, penalty): (f64, f64),
) -> Result<(Tensor, Tensor)> {
    let span = profile::work("forward");
    let output = model.forward(points, pass)?;
    drop(span);
    let span = profile::work("loss");
    let mut total = pass.operate(Operator::CrossEntropy, [&output.logits], |[logits]| {
        kernels::cross_entropy(&logits, labels, loss.smoothing, loss.class_weights.as_ref())
    })?;
    if let Some(transform) = output.feature_transform.filter(|_| loss.orthogonality > 0.0) {
        total = kernels::weighted_sum(&[
            (&total, factor),
            (&orthogonality(&transform)?, loss.orthogonality * penalty),
        ])?;
    } else if factor != 1.0 {
        total = kernels::weighted_sum(&[(&total, factor)])?;
    }
    let correct = output
        .logits
        .detach()
        .argmax(1)?
        .eq(labels)?
        .to_dtype(DType::F32)?
        .sum_all()?;
    drop(span);
    Ok((total, correct))
}

/// Sums loss and hits of an epoch. Values stay on the device until `read`, so that no step waits.
#[derive(Debug, Default)]
pub struct Running {
    /// Sum of loss × clouds over what was read.
    pub loss_sum: f64,
    /// Clouds named rightly, of what was read.
    pub correct: u64,
    /// Clouds seen, of what was read.
    pub seen: u64,
    losses: Vec<OnDevice>,
    hits: Vec<OnDevice>,
    clouds: Vec<u64>,
}

impl Running {
    /// Notes a step over `clouds` clouds, and waits for nothing.
    ///
    /// # Errors
    /// Where loss or hits are not one number each.
    pub fn push(&mut self, loss: Tensor, correct: Tensor, clouds: u64) -> Result<()> {
        self.losses.push(OnDevice::new(&loss)?);
        self.hits.push(OnDevice::new(&correct)?);
        self.clouds.push(clouds);
        Ok(())
    }

    /// Reads what is pending, in one wait; adds in the order of the steps, so the sum is the same whenever it is read.
    ///
    /// # Errors
    /// A loss that is not a finite number, which no further step can mend; or candle's.
    pub fn read(&mut self) -> Result<()> {
        let _span = profile::span("read figures", profile::Kind::Wait);
        let steps = self.clouds.len();
        self.losses.append(&mut self.hits);
        let read = OnDevice::read_all(&self.losses)?;
        self.losses.clear();
        let (losses, hits) = read.split_at(steps);
        for ((&loss, &hits), clouds) in losses.iter().zip(hits).zip(self.clouds.drain(..)) {
            if !loss.is_finite() {
                bail!(
                    "the loss became {loss}: training has come apart. Go on from the last checkpoint with a lower --learning-rate or with --clip 1"
                );
            }
            self.loss_sum += loss * clouds as f64;
            self.correct += hits as u64;
            self.seen += clouds;
        }
        Ok(())
    }

    /// Mean loss of what was read.
    pub fn loss(&self) -> f64 {
        self.loss_sum / self.seen.max(1) as f64
    }

    /// Share named rightly, of what was read.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.seen.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn noting_steps_does_not_wait_and_reading_waits_once() {
        let number = |v: f32| Tensor::new(v, &Device::Cpu).unwrap();
        let mut running = Running::default();
        let before = OnDevice::waits();
        for step in 0..50u8 {
            let hits = f32::from(step % 3);
            running
                .push(number(f32::from(step) / 7.0), number(hits), 4)
                .unwrap();
        }
        assert_eq!(OnDevice::waits(), before);
        running.read().unwrap();
        assert_eq!(OnDevice::waits(), before + 1);
        let sum = |range: std::ops::Range<u8>| -> f64 {
            range.map(|step| f64::from(f32::from(step) / 7.0) * 4.0).sum()
        };
        assert_eq!(
            (running.loss_sum, running.correct, running.seen),
            (sum(0..50), 49, 200)
        );
        running.read().unwrap();
        assert_eq!(OnDevice::waits(), before + 1, "nothing was pending");
    }

    #[test]
    fn a_loss_that_is_no_number_ends_the_run_when_it_is_read() {
        let number = |v: f32| Tensor::new(v, &Device::Cpu).unwrap();
        let mut running = Running::default();
        running.push(number(f32::NAN), number(0.0), 4).unwrap();
        let said = running.read().unwrap_err().to_string();
        assert!(said.contains("come apart"), "{said}");
    }
}

//! One training step, and figures that are read only when somebody looks.

use anyhow::{Result, bail};
use candle_core::{DType, Tensor};

use crate::{
    kernels::{self, Operator, Pass},
    model::{PointNet, orthogonality},
    optim::{Optimizer, accumulated, clip_grad_norm},
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
    if clip > 0.0 {
        clip_grad_norm(&mut grads, clip)?;
    }
    optimizer.step(&grads, learning_rate)?;
    Ok((total, correct))
}

/// As [`train_step`], with the gradients of several micro-batches in one optimizer step: those of the mean loss over all
/// of them, but that batch normalisation (and with it the feature transform's term) sees one at a time. `pass(i)` is the
/// pass of micro-batch i, which draws its own dropout. Returns loss and hits of each.
///
/// # Errors
/// candle's; no micro-batch.
pub fn accumulated_step(
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    micro: &[(Tensor, Tensor)],
    loss: &Loss,
    pass: &dyn Fn(usize) -> Pass,
    learning_rate: f64,
    clip: f64,
) -> Result<Vec<(Tensor, Tensor)>> {
    let walk = &mut |total: &Tensor, pass: &Pass| model.gradients(total, pass);
    let (figures, mut grads) = accumulated_gradients(model, micro, loss, pass, walk)?;
    if clip > 0.0 {
        clip_grad_norm(&mut grads, clip)?;
    }
    optimizer.step(&grads, learning_rate)?;
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
        Some(of_class) => {
            let of = |(_, labels): &(Tensor, Tensor)| {
                of_class
                    .index_select(labels, 0)?
                    .sum_all()?
                    .to_dtype(DType::F64)?
                    .to_scalar()
            };
            micro.iter().map(of).collect::<candle_core::Result<Vec<f64>>>()?
        }
        None => clouds.clone(),
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

/// Loss, hits and gradients of one batch; the orthogonality term's weight is multiplied by `penalty`.
fn gradients(
    model: &PointNet,
    (points, labels): (&Tensor, &Tensor),
    loss: &Loss,
    pass: &Pass,
    penalty: f64,
    walk: Walk,
) -> Result<(Tensor, Tensor, Vec<Tensor>)> {
    let output = model.forward(points, pass)?;
    let mut total = pass.operate(Operator::CrossEntropy, [&output.logits], |[logits]| {
        kernels::cross_entropy(&logits, labels, loss.smoothing, loss.class_weights.as_ref())
    })?;
    if let Some(transform) = output.feature_transform.filter(|_| loss.orthogonality > 0.0) {
        total = kernels::weighted_sum(&[
            (&total, 1.0),
            (&orthogonality(&transform)?, loss.orthogonality * penalty),
        ])?;
    }
    let correct = output
        .logits
        .detach()
        .argmax(1)?
        .eq(labels)?
        .to_dtype(DType::F32)?
        .sum_all()?;
    let grads = walk(&total, pass)?;
    Ok((total.detach(), correct, grads))
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
    pending: Vec<(Tensor, Tensor, u64)>,
}

impl Running {
    /// Notes a step over `clouds` clouds.
    pub fn push(&mut self, loss: Tensor, correct: Tensor, clouds: u64) {
        self.pending.push((loss, correct, clouds));
    }

    /// Reads what is pending, in the order of the steps, so the sum is the same whenever it is read.
    ///
    /// # Errors
    /// A loss that is not a finite number, which no further step can mend; or candle's.
    pub fn read(&mut self) -> Result<()> {
        for (loss, correct, clouds) in self.pending.drain(..) {
            let loss = f64::from(loss.to_dtype(DType::F32)?.to_scalar::<f32>()?);
            if !loss.is_finite() {
                bail!(
                    "the loss became {loss}: training has come apart. Go on from the last checkpoint with a lower --learning-rate or with --clip 1"
                );
            }
            self.loss_sum += loss * clouds as f64;
            self.correct += correct.to_scalar::<f32>()? as u64;
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

//! A training step whose loss is scaled, and that is left out where a gradient overflows.

use anyhow::Result;
use candle_core::Tensor;

use super::{Loss, step::accumulated_gradients};
use crate::{
    kernels::Pass,
    model::PointNet,
    optim::{Optimizer, clip_grad_norm},
    precision::{GradScaler, LossScale},
};

/// What a scaled step came to.
#[derive(Debug)]
pub struct Scaled {
    /// Loss (not scaled) and hits of each micro-batch.
    pub figures: Vec<(Tensor, Tensor)>,
    /// Whether the optimizer stepped; otherwise a gradient was infinite or NaN, and weights and optimizer are as before.
    pub taken: bool,
}

/// As [`super::accumulated_step`], by the gradients of the scaled loss: backward, unscale, clip, step or not, then the
/// scale follows. Waits once for the device, to know whether a gradient overflowed.
///
/// # Errors
/// candle's; the scale cannot fall further.
#[allow(clippy::too_many_arguments, reason = "accumulated_step's, and the scaler")]
pub fn scaled_step<S: LossScale>(
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    micro: &[(Tensor, Tensor)],
    loss: &Loss,
    pass: &dyn Fn(usize) -> Pass,
    learning_rate: f64,
    clip: f64,
    scaler: &mut GradScaler<S>,
) -> Result<Scaled> {
    let mut walk = |total: &Tensor, pass: &Pass| {
        scaler.gradients(total, &mut |scaled| {
            model
                .gradients(scaled, pass)
                .map_err(|e| candle_core::Error::Msg(format!("{e:#}")))
        })
    };
    let (figures, mut grads) = accumulated_gradients(model, micro, loss, pass, &mut walk)?;
    if clip > 0.0 {
        clip_grad_norm(&mut grads, clip)?;
    }
    let taken = scaler.step(&mut grads, |grads| optimizer.step(grads, learning_rate))?;
    scaler.update()?;
    Ok(Scaled { figures, taken })
}

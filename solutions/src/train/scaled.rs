//! A training step whose loss is scaled, and that is left out where a gradient overflows.

use anyhow::Result;
use candle_core::Tensor;

use super::{StepOptions, accumulated_step, step::accumulated_gradients};
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

/// [`accumulated_step`] where there is no scaler; else by the gradients of the scaled loss: backward, unscale, clip, step or
/// not, then the scale follows. Waits once for the device, to know whether a gradient overflowed.
///
/// # Errors
/// candle's; the scale cannot fall further.
pub fn scaled_step<S: LossScale>(
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    micro: &[(Tensor, Tensor)],
    options: &StepOptions,
    scaler: Option<&mut GradScaler<S>>,
) -> Result<Scaled> {
    let Some(scaler) = scaler else {
        let figures = accumulated_step(model, optimizer, micro, options)?;
        return Ok(Scaled { figures, taken: true });
    };
    let mut walk = |total: &Tensor, pass: &Pass| {
        scaler.gradients(total, &mut |scaled| {
            model
                .gradients(scaled, pass)
                .map_err(|e| candle_core::Error::Msg(format!("{e:#}")))
        })
    };
    let (figures, mut grads) = accumulated_gradients(model, micro, options.loss, options.pass, &mut walk)?;
    if options.clip > 0.0 {
        clip_grad_norm(&mut grads, options.clip)?;
    }
    let taken = scaler.step(&mut grads, |grads| optimizer.step(grads, options.learning_rate))?;
    scaler.update()?;
    Ok(Scaled { figures, taken })
}

//! Loss scaling (Micikevicius et al. 2018, section 3.2): the loss is multiplied by a scale, so that small gradients do not
//! underflow in fp16, and the gradients are divided by it before they are used.

use anyhow::Result;
use candle_core::{DType, Tensor};

use crate::kernels::{self, multi_tensor};

// ANCHOR: Backward
/// A backward pass: returns the gradients of a loss with respect to the parameters, in the order of the parameters.
pub type Backward<'a> = &'a mut dyn FnMut(&Tensor) -> candle_core::Result<Vec<Tensor>>;
// ANCHOR_END: Backward

/// Returns the gradients of `loss`, computed by the backward pass `backward` of `loss` × `scale` and unscaled, and whether any
/// of them is infinite or NaN. The gradients are in f32, or in f64 if `backward` returns f64.
///
/// # Errors
/// Returns an error if `backward` or candle fails.
pub fn scaled_gradients(
    loss: &Tensor,
    scale: f64,
    backward: Backward,
) -> candle_core::Result<(Vec<Tensor>, bool)> {
    let mut grads = backward(&kernels::weighted_sum(&[(loss, scale)])?)?;
    let found_inf = unscale(&mut grads, scale)?;
    Ok((grads, found_inf))
}

/// Divides all gradients by `scale`, in f32 (f64 stays f64). Returns whether any of them is infinite or NaN.
///
/// # Errors
/// Returns an error if candle fails.
pub fn unscale(grads: &mut [Tensor], scale: f64) -> candle_core::Result<bool> {
    if let Some((unscaled, norm)) = multi_tensor::unscaled_and_clipped(grads, scale, 0.0)? {
        grads.clone_from_slice(&unscaled);
        return norm.found_inf();
    }
    for grad in grads.iter_mut() {
        let wide = match grad.dtype() {
            DType::F64 => DType::F64,
            _ => DType::F32,
        };
        *grad = (grad.detach().to_dtype(wide)? * scale.recip())?;
    }
    found_inf(grads)
}

/// Returns whether any value of `grads` is infinite or NaN. Waits for the device once for all tensors.
///
/// # Errors
/// Returns an error if candle fails.
pub fn found_inf(grads: &[Tensor]) -> candle_core::Result<bool> {
    if grads.is_empty() {
        return Ok(false);
    }
    // x·0 is 0 for every finite x, and NaN for all others.
    let sums = grads
        .iter()
        .map(|g| (g.detach().to_dtype(DType::F32)? * 0.0)?.sum_all())
        .collect::<candle_core::Result<Vec<_>>>()?;
    let sum: f32 = Tensor::stack(&sums, 0)?.sum_all()?.to_scalar()?;
    Ok(sum.is_nan())
}

/// A rule for the loss scale.
pub trait LossScale: Send {
    /// Returns the scale for the next step.
    fn scale(&self) -> f64;

    /// Updates the scale after a step. `found_inf`: its gradients overflowed, and the step was skipped.
    ///
    /// # Errors
    /// Returns an error if gradients overflow and the scale cannot be reduced.
    fn update(&mut self, found_inf: bool) -> Result<()>;
}

/// Scales the loss of each step: gradients of the scaled loss, step, update; each once per step.
#[derive(Debug)]
pub struct GradScaler<S: ?Sized> {
    /// Whether a gradient of this step overflowed.
    found_inf: bool,
    by: ScaledGradients,
    rule: S,
}

/// A function with the signature of [`scaled_gradients`].
pub type ScaledGradients = fn(&Tensor, f64, Backward) -> candle_core::Result<(Vec<Tensor>, bool)>;

impl<S: LossScale> GradScaler<S> {
    /// Creates a scaler with the rule `rule`.
    pub fn new(rule: S) -> Self {
        Self {
            found_inf: false,
            by: scaled_gradients,
            rule,
        }
    }

    /// Uses another function in place of [`scaled_gradients`].
    #[must_use]
    pub fn by(mut self, by: ScaledGradients) -> Self {
        self.by = by;
        self
    }

    /// Returns the rule with its state.
    pub fn rule(&self) -> &S {
        &self.rule
    }
}

impl<S: LossScale + ?Sized> GradScaler<S> {
    /// Returns the gradients of `loss`, computed from the scaled loss by the backward pass `backward` and unscaled: they must be
    /// unscaled before they are clipped, because the scale changes their norm.
    ///
    /// # Errors
    /// Returns an error if `backward` or candle fails.
    pub fn gradients(&mut self, loss: &Tensor, backward: Backward) -> candle_core::Result<Vec<Tensor>> {
        let (grads, found_inf) = (self.by)(loss, self.rule.scale(), backward)?;
        self.found_inf = found_inf;
        Ok(grads)
    }

    /// Returns the scale of this step.
    pub fn scale(&self) -> f64 {
        self.rule.scale()
    }

    /// Replaces whether a gradient of this rank overflowed by what `agree` returns: whether one did on any rank.
    ///
    /// # Errors
    /// Returns an error if `agree` fails.
    pub fn agree(&mut self, agree: impl FnOnce(bool) -> Result<bool>) -> Result<()> {
        self.found_inf = agree(self.found_inf)?;
        Ok(())
    }

    /// Calls the optimizer's `step`, unless a gradient overflowed, then updates the scale. Returns whether the step was taken.
    ///
    /// # Errors
    /// Returns an error if `step` fails, or if the scale cannot be reduced.
    pub fn step(&mut self, step: impl FnOnce() -> Result<()>) -> Result<bool> {
        if !self.found_inf {
            step()?;
        }
        self.rule.update(self.found_inf)?;
        Ok(!self.found_inf)
    }
}

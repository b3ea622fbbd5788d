//! Loss scaling (Micikevicius et al. 2018, section 3.2): the loss is multiplied, so that small gradients do not vanish
//! in fp16, and the gradients are divided before they are used.

use anyhow::{Result, bail, ensure};
use candle_core::{DType, Tensor};

use crate::kernels;

/// Walks backward from a loss: its gradients in the parameters, in their order.
pub type Walk<'a> = &'a mut dyn FnMut(&Tensor) -> candle_core::Result<Vec<Tensor>>;

/// The gradients of `loss` by way of the loss × `scale`, whose gradients `walk` gives; in fp32 at least, divided by the
/// scale again, and whether one of them was infinite or NaN.
///
/// # Errors
/// candle's, those of `walk`.
pub fn scaled_gradients(loss: &Tensor, scale: f64, walk: Walk) -> candle_core::Result<(Vec<Tensor>, bool)> {
    let mut grads = walk(&kernels::weighted_sum(&[(loss, scale)])?)?;
    let found_inf = unscale(&mut grads, scale)?;
    Ok((grads, found_inf))
}

/// Divides all gradients by `scale`, in fp32 at least, and says whether one of them was infinite or NaN.
///
/// # Errors
/// candle's.
pub fn unscale(grads: &mut [Tensor], scale: f64) -> candle_core::Result<bool> {
    for grad in grads.iter_mut() {
        let wide = match grad.dtype() {
            DType::F64 => DType::F64,
            _ => DType::F32,
        };
        *grad = (grad.detach().to_dtype(wide)? * scale.recip())?;
    }
    found_inf(grads)
}

/// Whether a number of `grads` is infinite or NaN. One wait for all of them, not one each.
///
/// # Errors
/// candle's.
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

/// The number that a loss is multiplied by, and how it follows the gradients.
pub trait LossScale: Send {
    /// The factor for the coming step.
    fn scale(&self) -> f64;

    /// Takes note of a step, whether its gradients overflowed. A step that did must be left out.
    ///
    /// # Errors
    /// The scale cannot fall further.
    fn update(&mut self, found_inf: bool) -> Result<()>;
}

/// PyTorch's order of calls: scale the loss, perhaps unscale (to clip), step, update; each once.
#[derive(Debug)]
pub struct GradScaler<S: ?Sized> {
    stage: Stage,
    by: ScaledGradients,
    rule: S,
}

/// A function such as [`scaled_gradients`].
pub type ScaledGradients = fn(&Tensor, f64, Walk) -> candle_core::Result<(Vec<Tensor>, bool)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Ready,
    Unscaled { found_inf: bool },
    Stepped { found_inf: bool },
}

impl<S: LossScale> GradScaler<S> {
    /// Scales by `rule`.
    pub fn new(rule: S) -> Self {
        Self {
            stage: Stage::Ready,
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

    /// The rule, in its current state.
    pub fn rule(&self) -> &S {
        &self.rule
    }
}

impl<S: LossScale + ?Sized> GradScaler<S> {
    /// The gradients of `loss` by way of the scaled loss, unscaled: one call a step.
    ///
    /// # Errors
    /// Returns an error if the gradients of this step were unscaled already; candle's, those of `walk`.
    pub fn gradients(&mut self, loss: &Tensor, walk: Walk) -> candle_core::Result<Vec<Tensor>> {
        if self.stage != Stage::Ready {
            candle_core::bail!(
                "loss scale: the gradients were unscaled in this step already; call update() after step()"
            );
        }
        let (grads, found_inf) = (self.by)(loss, self.rule.scale(), walk)?;
        self.stage = Stage::Unscaled { found_inf };
        Ok(grads)
    }

    /// The factor of this step.
    pub fn scale(&self) -> f64 {
        self.rule.scale()
    }

    /// The loss times the scale.
    ///
    /// # Errors
    /// candle's.
    pub fn scaled(&self, loss: &Tensor) -> candle_core::Result<Tensor> {
        loss * self.rule.scale()
    }

    /// Divides the gradients by the scale; before clipping, whose norm means nothing otherwise.
    ///
    /// # Errors
    /// It was done in this step already; candle's.
    pub fn unscale(&mut self, grads: &mut [Tensor]) -> Result<()> {
        ensure!(
            self.stage == Stage::Ready,
            "loss scale: the gradients were unscaled in this step already; call update() after step()"
        );
        let found_inf = unscale(grads, self.rule.scale())?;
        self.stage = Stage::Unscaled { found_inf };
        Ok(())
    }

    /// Takes the optimizer's step by `step`, unless a gradient overflowed; says whether it was taken.
    ///
    /// # Errors
    /// It was taken in this step already; those of `step`.
    pub fn step(&mut self, grads: &mut [Tensor], step: impl FnOnce(&[Tensor]) -> Result<()>) -> Result<bool> {
        if self.stage == Stage::Ready {
            self.unscale(grads)?;
        }
        let Stage::Unscaled { found_inf } = self.stage else {
            bail!("loss scale: step() was called in this step already; call update() first");
        };
        if !found_inf {
            step(grads)?;
        }
        self.stage = Stage::Stepped { found_inf };
        Ok(!found_inf)
    }

    /// Ends the step: the scale follows what was found.
    ///
    /// # Errors
    /// No step was taken or left out since the last time; the rule's.
    pub fn update(&mut self) -> Result<()> {
        let Stage::Stepped { found_inf } = self.stage else {
            bail!("loss scale: update() without a step() before it");
        };
        self.stage = Stage::Ready;
        self.rule.update(found_inf)
    }
}

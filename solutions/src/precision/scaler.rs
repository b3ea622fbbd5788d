//! Loss scaling (Micikevicius et al. 2018, section 3.2): the loss is multiplied, so that small gradients do not vanish
//! in fp16, and the gradients are divided before they are used.

use anyhow::{Result, bail, ensure};
use candle_core::{DType, Tensor};
use serde::{Deserialize, Serialize};

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
pub trait LossScale {
    /// The factor for the coming step.
    fn scale(&self) -> f64;

    /// Takes note of a step, whether its gradients overflowed. A step that did must be left out.
    ///
    /// # Errors
    /// The scale cannot fall further.
    fn update(&mut self, found_inf: bool) -> Result<()>;
}

/// PyTorch's rule: ×2 after 2,000 good steps in a row, ×½ on an overflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DynamicScaler {
    scale: f64,
    growth: f64,
    backoff: f64,
    interval: u32,
    good: u32,
}

impl Default for DynamicScaler {
    fn default() -> Self {
        Self {
            scale: 65536.0,
            growth: 2.0,
            backoff: 0.5,
            interval: 2000,
            good: 0,
        }
    }
}

impl DynamicScaler {
    /// From `scale`, ×2 after `interval` good steps.
    ///
    /// # Errors
    /// A scale not above 0, an interval of 0.
    pub fn new(scale: f64, interval: u32) -> Result<Self> {
        ensure!(
            scale > 0.0 && scale.is_finite() && interval > 0,
            "loss scale: it starts at {scale} and grows every {interval} steps; both must be above 0"
        );
        Ok(Self {
            scale,
            interval,
            ..Self::default()
        })
    }

    /// Good steps since the scale last changed.
    pub fn good_steps(&self) -> u32 {
        self.good
    }
}

impl LossScale for DynamicScaler {
    fn scale(&self) -> f64 {
        self.scale
    }

    fn update(&mut self, found_inf: bool) -> Result<()> {
        if found_inf {
            self.scale *= self.backoff;
            self.good = 0;
            return Ok(());
        }
        self.good += 1;
        if self.good == self.interval {
            self.good = 0;
            // As PyTorch: a scale that would be infinite stays.
            let grown = self.scale * self.growth;
            if grown <= f64::from(f32::MAX) {
                self.scale = grown;
            }
        }
        Ok(())
    }
}

/// PyTorch's order of calls: scale the loss, perhaps unscale (to clip), step, update; each once.
#[derive(Clone, Debug)]
pub struct GradScaler<S> {
    rule: S,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Ready,
    Unscaled { found_inf: bool },
    Stepped { found_inf: bool },
}

impl<S: LossScale> GradScaler<S> {
    /// By the rule of `rule`.
    pub fn new(rule: S) -> Self {
        Self {
            rule,
            stage: Stage::Ready,
        }
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

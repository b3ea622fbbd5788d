use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::LossScale;

// ANCHOR: DynamicScaler
/// Dynamic loss scaling with its state, as PyTorch's `GradScaler`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DynamicScaler {
    /// Scale of the next step; initially 65,536.
    pub scale: f64,
    /// Factor by which the scale grows; default 2.
    pub growth: f64,
    /// Factor by which the scale falls after an overflow; default ½.
    pub backoff: f64,
    /// Number of steps in a row without an overflow after which the scale grows; default 2,000.
    pub interval: u32,
    /// Steps in a row without an overflow; restarts at 0 when it reaches `interval`.
    pub good: u32,
}
// ANCHOR_END: DynamicScaler

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
    /// Creates a scaler with the initial scale `scale`, which doubles after `interval` steps without an overflow.
    ///
    /// # Errors
    /// Returns an error if the scale is not above 0 and finite in fp32, or if the interval is 0.
    pub fn new(scale: f64, interval: u32) -> Result<Self> {
        ensure!(
            scale > 0.0 && scale <= f64::from(f32::MAX) && interval > 0,
            "loss scale: the initial scale is {scale} and the growth interval {interval} steps; both must be above 0, and \
             the scale finite in fp32"
        );
        Ok(Self {
            scale,
            interval,
            ..Self::default()
        })
    }
}

/// Updates the scale after a step, as PyTorch's `GradScaler.update` does. On an overflow it multiplies the scale by
/// `backoff` and resets the count of good steps. After `interval` steps in a row without an overflow it multiplies the
/// scale by `growth` and resets the count. The scale does not grow beyond the range of f32.
pub fn update_scale(state: &mut DynamicScaler, found_inf: bool) {
    if found_inf {
        state.scale *= state.backoff;
        state.good = 0;
        return;
    }
    state.good += 1;
    if state.good == state.interval {
        state.good = 0;
        let grown = state.scale * state.growth;
        if grown <= f64::from(f32::MAX) {
            state.scale = grown;
        }
    }
}

impl LossScale for DynamicScaler {
    fn scale(&self) -> f64 {
        self.scale
    }

    fn update(&mut self, found_inf: bool) -> Result<()> {
        update_scale(self, found_inf);
        Ok(())
    }
}

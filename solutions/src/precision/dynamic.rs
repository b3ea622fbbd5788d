use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::LossScale;

/// A loss scale that follows the gradients, and where it stands; PyTorch's `GradScaler`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DynamicScaler {
    /// The factor for the coming step.
    pub scale: f64,
    /// It grows by this, 2.
    pub growth: f64,
    /// It falls by this, ½.
    pub backoff: f64,
    /// It grows after so many good steps in a row, 2,000.
    pub interval: u32,
    /// Good steps in a row so far, since it last changed.
    pub good: u32,
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
}

/// PyTorch's rule after a step: ×backoff and the count at 0 on an overflow; ×growth and the count at 0 when `interval`
/// good steps in a row are full. A scale that an f32 cannot hold is not taken.
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

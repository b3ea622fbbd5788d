use std::fmt;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::LossScale;

/// Dynamic loss scaling as DeepSpeed's `DynamicLossScaler`: ×2 after a window of steps without an overflow, ×½ on an
/// overflow once the hysteresis is used up, and an error if gradients overflow at the minimum scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeepSpeedScaler {
    scale: f64,
    window: u64,
    hysteresis: u32,
    least: f64,
    /// The scale falls at the `left`-th overflow from now.
    left: u32,
    step: u64,
    /// The last step with an overflow, counted from 1; 0 before the first.
    since: u64,
}

impl Default for DeepSpeedScaler {
    /// DeepSpeed's defaults: an initial scale of 2^16, a window of 1,000 steps, a hysteresis of 2 and a minimum scale of 1.
    fn default() -> Self {
        Self {
            scale: 65536.0,
            window: 1000,
            hysteresis: 2,
            least: 1.0,
            left: 2,
            step: 0,
            since: 0,
        }
    }
}

impl DeepSpeedScaler {
    /// Creates a scaler with an initial scale of 2^`power` and a minimum of `least`. The scale doubles after `window` steps
    /// without an overflow and halves at the `hysteresis`-th overflow.
    ///
    /// # Errors
    /// Returns an error if the window or the hysteresis is 0, or if the minimum is not above 0 or above the initial scale.
    pub fn new(power: u32, window: u64, hysteresis: u32, least: f64) -> Result<Self> {
        ensure!(
            power < 128,
            "loss scale: 2^{power} is not finite in fp32; the power must be at most 127"
        );
        let scale = 2f64.powi(power as i32);
        ensure!(
            window > 0 && hysteresis > 0,
            "loss scale: window {window} and hysteresis {hysteresis} must be above 0"
        );
        ensure!(
            least > 0.0 && least <= scale,
            "loss scale: the minimum is {least}; it must be above 0 and at most the initial scale, {scale}"
        );
        Ok(Self {
            scale,
            window,
            hysteresis,
            least,
            left: hysteresis,
            ..Self::default()
        })
    }
}

/// The settings of [`DeepSpeedScaler::new`], separated by colons.
impl fmt::Display for DeepSpeedScaler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let power = self.scale.log2();
        write!(f, "{power}:{}:{}:{}", self.window, self.hysteresis, self.least)
    }
}

impl LossScale for DeepSpeedScaler {
    fn scale(&self) -> f64 {
        self.scale
    }

    fn update(&mut self, found_inf: bool) -> Result<()> {
        self.step += 1;
        if found_inf {
            self.since = self.step;
            if self.left > 1 {
                self.left -= 1;
                return Ok(());
            }
            ensure!(
                self.scale > self.least,
                "loss scale: gradients overflow at the minimum scale, {}: the loss itself is infinite or NaN, or the learning \
                 rate is too high",
                self.least
            );
            self.scale = (self.scale / 2.0).max(self.least);
            return Ok(());
        }
        // Steps without an overflow before this one: DeepSpeed does not count the step that ends the window.
        let good = self.step - 1 - self.since;
        if good > 0 && good.is_multiple_of(self.window) {
            self.left = self.hysteresis;
            self.scale *= 2.0;
        }
        Ok(())
    }
}

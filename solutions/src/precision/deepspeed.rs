use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::LossScale;

/// DeepSpeed's rule: ×2 after a window of steps without an overflow, ×½ on an overflow once the hysteresis is used up,
/// and an error where the least scale overflows still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeepSpeedScaler {
    scale: f64,
    window: u64,
    hysteresis: u32,
    least: f64,
    /// Overflows that are borne before the scale falls, and the last of them falls itself.
    left: u32,
    step: u64,
    /// The step after the last overflow.
    since: u64,
}

impl Default for DeepSpeedScaler {
    /// 2^16, a window of 1,000, a hysteresis of 2, at least 1.
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
    /// From 2^`power`.
    ///
    /// # Errors
    /// A window or hysteresis of 0, a least scale not above 0 or above the first.
    pub fn new(power: u32, window: u64, hysteresis: u32, least: f64) -> Result<Self> {
        let scale = 2f64.powi(i32::try_from(power)?);
        ensure!(
            window > 0 && hysteresis > 0,
            "loss scale: window {window} and hysteresis {hysteresis} must be above 0"
        );
        ensure!(
            least > 0.0 && least <= scale,
            "loss scale: the least must be above 0 and at most the first, {scale}; it is {least}"
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
                "loss scale: gradients overflow at the least scale, {}: the loss itself is infinite or NaN, or the rate too high",
                self.least
            );
            self.scale = (self.scale / 2.0).max(self.least);
            return Ok(());
        }
        // Good steps before this one: the step that ends the window does not count itself.
        let good = self.step - 1 - self.since;
        if good > 0 && good.is_multiple_of(self.window) {
            self.left = self.hysteresis;
            self.scale *= 2.0;
        }
        Ok(())
    }
}

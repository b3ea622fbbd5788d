//! Warm-up, alone and before a decay: numerically as DeepSpeed's WarmupLR, WarmupDecayLR and WarmupCosineLR. `step` is the
//! number of steps already taken (DeepSpeed's `last_batch_iteration`).

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// How the learning rate rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rise {
    /// Logarithmically: ln(t + 1)/ln W. DeepSpeed's default.
    #[default]
    Log,
    /// Linearly: t/W.
    Linear,
}

/// A warm-up: its length W, which counts as at least 2, as in DeepSpeed, and how the learning rate rises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warmup {
    /// Steps of the warm-up.
    pub steps: u64,
    /// How the learning rate rises.
    pub rise: Rise,
}

impl Warmup {
    fn length(self) -> u64 {
        self.steps.max(2)
    }

    /// The progress of the warm-up after `step` steps, 0 to 1; 1 once it is over.
    pub fn share(self, step: u64) -> f64 {
        let length = self.length();
        if step >= length {
            return 1.0;
        }
        match self.rise {
            Rise::Log => ((step + 1) as f64).ln() / (length as f64).ln(),
            Rise::Linear => step as f64 / length as f64,
        }
    }
}

/// From `least` to `greatest`, and constant after that.
pub fn warmup(step: u64, warmup: Warmup, least: f64, greatest: f64) -> f64 {
    least + (greatest - least) * warmup.share(step)
}

/// From `least` to `greatest`, then linearly back to `least` at `total` steps.
pub fn warmup_decay(step: u64, up: Warmup, total: u64, least: f64, greatest: f64) -> f64 {
    if step < up.length() {
        return warmup(step, up, least, greatest);
    }
    let left = total.saturating_sub(step) as f64 / total.saturating_sub(up.length()).max(1) as f64;
    least + (greatest - least) * left
}

/// From `first·base` up to `base`, then along half a cosine to `last·base` at `total` steps. DeepSpeed's defaults are
/// `first` = 0 and `last` = 1e-4.
pub fn warmup_cosine(step: u64, up: Warmup, total: u64, base: f64, first: f64, last: f64) -> f64 {
    if step < up.length() {
        return base * (first + up.share(step) * (1.0 - first));
    }
    let of = total.saturating_sub(up.length()).max(1) as f64;
    let done = ((step - up.length() + 1) as f64 / of).min(1.0);
    base * (last + (1.0 - last) * 0.5 * (1.0 + (PI * done).cos()))
}

//! The one-cycle policy (Smith and Topin 2017, "Super-convergence"): the learning rate rises to a peak that would be too
//! high for a whole run, then falls far below its first value, while the momentum does the opposite. Numerically as
//! PyTorch's OneCycleLR with two phases.

use std::f64::consts::PI;

// ANCHOR: OneCycle
/// A cycle's settings; [`OneCycle::new`] has PyTorch's defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct OneCycle {
    /// The peak learning rate.
    pub max: f64,
    /// Steps of the whole cycle.
    pub total: u64,
    /// Fraction of the steps in which the learning rate rises.
    pub rising: f64,
    /// The first learning rate is `max/first_divisor`.
    pub first_divisor: f64,
    /// The last learning rate is the first divided by this.
    pub last_divisor: f64,
    /// The momentum at the peak learning rate.
    pub least_momentum: f64,
    /// The momentum at both ends.
    pub greatest_momentum: f64,
}
// ANCHOR_END: OneCycle

impl OneCycle {
    /// From `max`/25 up to `max` in 30 % of the `total` steps, then down to 1/10,000 of the first learning rate; the momentum
    /// is 0.95, then 0.85 at the peak, then 0.95.
    pub fn new(max: f64, total: u64) -> Self {
        Self {
            max,
            total,
            rising: 0.3,
            first_divisor: 25.0,
            last_divisor: 1e4,
            least_momentum: 0.85,
            greatest_momentum: 0.95,
        }
    }
}

/// The learning rate and the momentum of `step`, counted from 0, of a cycle whose settings are in range; `None` past its
/// end. The rising phase ends at step `rising·total − 1`, which may be fractional, the falling phase at `total − 1`.
pub fn one_cycle(cycle: &OneCycle, step: u64) -> Option<(f64, f64)> {
    if step >= cycle.total {
        return None;
    }
    let first = cycle.max / cycle.first_divisor;
    let last = first / cycle.last_divisor;
    let (top, end) = (cycle.rising * cycle.total as f64 - 1.0, (cycle.total - 1) as f64);
    let step = step as f64;
    let (low, high) = (cycle.least_momentum, cycle.greatest_momentum);
    if step <= top || top >= end {
        let share = if top > 0.0 { step / top } else { 1.0 };
        return Some((between(first, cycle.max, share), between(high, low, share)));
    }
    let share = (step - top) / (end - top);
    Some((between(cycle.max, last, share), between(low, high, share)))
}

/// Half a cosine.
fn between(from: f64, to: f64, share: f64) -> f64 {
    to + (from - to) / 2.0 * (1.0 + (PI * share).cos())
}

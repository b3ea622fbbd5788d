//! The one-cycle policy (Smith and Topin 2017, "Super-convergence"): the learning rate rises to a peak that would be too
//! high for a whole run, then falls far below its first value, while the momentum does the opposite. Numerically as
//! PyTorch's OneCycleLR with two phases.

use std::f64::consts::PI;

use anyhow::{Context, Result, ensure};

/// The shape of the schedule between its turning points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Course {
    /// Half a cosine.
    #[default]
    Cosine,
    /// A straight line.
    Linear,
}

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
    /// The shape between the turning points.
    pub course: Course,
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
            course: Course::Cosine,
        }
    }

    /// The learning rate and the momentum of `step`, counted from 0. The rising phase ends at step `rising·total − 1`, which
    /// may be fractional, the falling phase at `total − 1`.
    ///
    /// # Errors
    /// Returns an error if the step is past the cycle's end, if the cycle has less than two steps, or if `rising` or a
    /// divisor is out of range.
    pub fn at(&self, step: u64) -> Result<(f64, f64)> {
        ensure!(
            self.total >= 2,
            "one cycle: it has {} steps and needs at least 2",
            self.total
        );
        ensure!(
            (0.0..=1.0).contains(&self.rising),
            "one cycle: the rising fraction must be 0 to 1; it is {}",
            self.rising
        );
        ensure!(
            self.first_divisor > 0.0 && self.last_divisor > 0.0,
            "one cycle: both divisors must be above 0; they are {} and {}",
            self.first_divisor,
            self.last_divisor
        );
        ensure!(
            step < self.total,
            "one cycle: step {step} is past its end; it has {} steps, counted from 0",
            self.total
        );
        one_cycle(self, step).context("one cycle: no such step")
    }
}

/// The learning rate and the momentum of `step`, counted from 0, of a cycle whose settings are in range; `None` past its
/// end. See [`OneCycle::at`].
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
        let rate = cycle.course.between(first, cycle.max, share);
        return Some((rate, cycle.course.between(high, low, share)));
    }
    let share = (step - top) / (end - top);
    let rate = cycle.course.between(cycle.max, last, share);
    Some((rate, cycle.course.between(low, high, share)))
}

impl Course {
    fn between(self, from: f64, to: f64, share: f64) -> f64 {
        match self {
            Course::Cosine => to + (from - to) / 2.0 * (1.0 + (PI * share).cos()),
            Course::Linear => from + (to - from) * share,
        }
    }
}

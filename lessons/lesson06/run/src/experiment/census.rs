//! A histogram of gradient magnitudes, and counts of underflow and overflow by rounding.

use std::sync::{Mutex, PoisonError};

use canopy::precision::GradientCensus;

/// Counts gradients by magnitude while they are rounded. All operators of a pass share it.
#[derive(Debug, Default)]
pub struct Census(Mutex<Counts>);

/// Counts of a [`Census`].
#[derive(Clone, Debug)]
pub struct Counts {
    /// `sizes[i]` counts gradients g with 2^(i − 160) ≤ |g| < 2^(i − 159). The first and the last bin also count those
    /// beyond the range.
    pub sizes: Vec<u64>,
    /// Gradients that were 0 before rounding.
    pub zeros: u64,
    /// Gradients that were rounded to 0.
    pub lost: u64,
    /// Gradients that are infinite or NaN after rounding.
    pub overflowed: u64,
}

/// Exponent of the first bin.
const LEAST: i32 = -160;
/// Number of bins.
const BINS: usize = 300;

impl Default for Counts {
    fn default() -> Self {
        Self {
            sizes: vec![0; BINS],
            zeros: 0,
            lost: 0,
            overflowed: 0,
        }
    }
}

impl GradientCensus for Census {
    fn note(&self, before: &[f32], after: &[f32]) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (&g, &rounded) in before.iter().zip(after) {
            if !rounded.is_finite() {
                counts.overflowed += 1;
            } else if g == 0.0 {
                counts.zeros += 1;
                continue;
            } else if rounded == 0.0 {
                counts.lost += 1;
            }
            if g.is_finite() {
                // Every f32 is a normal f64, so the f64's exponent bits are its power of two.
                let power = ((f64::from(g).to_bits() >> 52) & 0x7ff) as i32 - 1023;
                counts.sizes[(power - LEAST).clamp(0, BINS as i32 - 1) as usize] += 1;
            }
        }
    }
}

impl Census {
    /// Returns the counts and resets them.
    pub fn take(&self) -> Counts {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Counts {
    /// Returns the number of gradients that were not 0.
    pub fn seen(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// Returns the share of the nonzero gradients that were rounded to 0.
    pub fn lost_share(&self) -> f64 {
        self.lost as f64 / self.seen().max(1) as f64
    }

    /// Returns the exponent and the share of each bin, from the smallest magnitude that occurs to the largest.
    pub fn shares(&self) -> Vec<(i32, f64)> {
        let all = self.seen().max(1) as f64;
        let first = self.sizes.iter().position(|&n| n > 0).unwrap_or(0);
        let last = self.sizes.iter().rposition(|&n| n > 0).unwrap_or(0);
        (first..=last)
            .map(|i| (LEAST + i as i32, self.sizes[i] as f64 / all))
            .collect()
    }
}

//! The learning-rate range test (Smith 2015, "Cyclical Learning Rates", section 3.3): raise the learning rate step by
//! step, and see where the loss falls fastest and where training diverges.

use anyhow::{Result, ensure};

/// Settings of a range test whose learning rate grows by a constant factor.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeTest {
    /// The first learning rate.
    pub first: f64,
    /// The last learning rate.
    pub last: f64,
    /// Number of steps, at least 2.
    pub steps: u64,
    /// Decay rate of the running mean of the loss, at least 0 and less than 1.
    pub smoothing: f64,
    /// The test ends when the smoothed loss exceeds this multiple of its minimum so far.
    pub breaks: f64,
}

impl Default for RangeTest {
    /// From 1e-7 to 10 in 100 steps; it ends at four times the minimum loss.
    fn default() -> Self {
        Self {
            first: 1e-7,
            last: 10.0,
            steps: 100,
            smoothing: 0.98,
            breaks: 4.0,
        }
    }
}

// ANCHOR: RangeFound
/// The result of a range test.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeFound {
    /// The learning rate of each step, without the one after which the loss diverged.
    pub rates: Vec<f64>,
    /// The smoothed loss of each of these steps.
    pub losses: Vec<f64>,
    /// A learning rate at which the loss falls; None if it falls nowhere.
    pub suggestion: Option<f64>,
    /// Whether the loss diverged, be it at the last learning rate.
    pub broke: bool,
}
// ANCHOR_END: RangeFound

impl RangeTest {
    /// Calls `train` with the learning rate of each step t, `first·(last/first)^(t/steps)`, until training diverges. `train`
    /// takes one training step and returns its loss. The caller restores model and optimizer afterwards.
    ///
    /// # Errors
    /// Returns an error if a setting is out of range or if `train` fails.
    pub fn run(&self, mut train: impl FnMut(f64) -> Result<f64>) -> Result<RangeFound> {
        ensure!(
            self.first > 0.0 && self.last > self.first,
            "range test: the learning rates go from {} to {}; the first must be above 0 and below the last",
            self.first,
            self.last
        );
        ensure!(
            self.steps >= 2 && (0.0..1.0).contains(&self.smoothing) && self.breaks > 1.0,
            "range test: it needs at least 2 steps, a smoothing of at least 0 and less than 1, and a limit above 1; they are {}, {} and {}",
            self.steps,
            self.smoothing,
            self.breaks
        );
        let rate = |step| self.first * (self.last / self.first).powf(step as f64 / self.steps as f64);
        let rates: Vec<f64> = (0..=self.steps).map(rate).collect();
        let mut failed = None;
        let mut loss = |rate| {
            train(rate).unwrap_or_else(|e| {
                failed = Some(e);
                f64::NAN
            })
        };
        let found = range_test(&rates, self.smoothing, self.breaks, &mut loss);
        failed.map_or(Ok(found), Err)
    }
}

/// Calls `train` with each of `rates` in turn until training diverges: until the smoothed loss is not finite or exceeds
/// `breaks` times its minimum so far. `train` takes one training step and returns its loss. The step that diverged is not
/// part of the result.
pub fn range_test(
    rates: &[f64],
    smoothing: f64,
    breaks: f64,
    train: &mut dyn FnMut(f64) -> f64,
) -> RangeFound {
    let (mut losses, mut least, mut broke) = (Vec::new(), f64::INFINITY, false);
    // A running mean with bias correction, as in Adam: m ← βm + (1−β)x, divided by 1 − βᵗ.
    let (mut mean, mut weight) = (0.0, 0.0);
    for &rate in rates {
        mean = smoothing * mean + (1.0 - smoothing) * train(rate);
        weight = smoothing * weight + (1.0 - smoothing);
        let loss = mean / weight;
        broke = !loss.is_finite() || loss > breaks * least;
        if broke {
            break;
        }
        least = least.min(loss);
        losses.push(loss);
    }
    RangeFound {
        rates: rates[..losses.len()].to_vec(),
        suggestion: valley(&losses).map(|at| rates[at]),
        losses,
        broke,
    }
}

/// The index of the suggested learning rate: `start + ⌊L/3⌋ + ⌊L/6⌋`, about the middle of the longest run of falling
/// `losses`, which has length L and begins at `start`. Of runs of equal length the first counts. `None` if the losses never
/// fall.
pub fn valley(losses: &[f64]) -> Option<usize> {
    let (mut start, mut best) = (0, (0, 1));
    for i in 1..losses.len() {
        if losses[i] >= losses[i - 1] || losses[i].is_nan() {
            start = i;
        } else if i - start + 1 > best.1 {
            best = (start, i - start + 1);
        }
    }
    let (start, length) = best;
    (length >= 2).then(|| start + length / 3 + length / 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_errors() {
        let of = |spoil: fn(&mut RangeTest)| {
            let mut test = RangeTest::default();
            spoil(&mut test);
            test.run(|_| Ok(1.0))
        };
        assert!(of(|_| {}).is_ok());
        for spoil in [
            |t| t.first = 0.0,
            |t| t.steps = 1,
            |t| t.smoothing = 1.0,
            |t| t.breaks = 1.0,
        ] as [fn(&mut RangeTest); 4]
        {
            assert!(of(spoil).is_err());
        }
    }
}

//! The learning-rate range test (Smith 2015, "Cyclical Learning Rates", section 3.3): raise the learning rate step by
//! step, and see where the loss falls fastest and where training diverges.

use anyhow::{Result, ensure};

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

/// A [`range_test`] whose learning rate grows by a constant factor from `first` to `last`: step t of `steps` has
/// `first·(last/first)^(t/steps)`. It ends when the loss, smoothed with β = 0.98, exceeds four times its minimum. `train`
/// takes one training step and returns its loss. The caller restores model and optimizer afterwards.
///
/// # Errors
/// Returns an error if a setting is out of range or if `train` fails.
pub fn growing_rates(
    (first, last): (f64, f64),
    steps: u64,
    mut train: impl FnMut(f64) -> Result<f64>,
) -> Result<RangeFound> {
    ensure!(
        first > 0.0 && last > first,
        "range test: the learning rates go from {first} to {last}; the first must be above 0 and below the last"
    );
    ensure!(
        steps >= 2,
        "range test: it has {steps} steps and needs at least 2"
    );
    let rate = |step| first * (last / first).powf(step as f64 / steps as f64);
    let rates: Vec<f64> = (0..=steps).map(rate).collect();
    let mut failed = None;
    let mut loss = |rate| {
        train(rate).unwrap_or_else(|e| {
            failed = Some(e);
            f64::NAN
        })
    };
    let found = range_test(&rates, 0.98, 4.0, &mut loss);
    failed.map_or(Ok(found), Err)
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
    fn rates_grow_by_a_constant_factor_and_settings_out_of_range_are_errors() {
        let found = growing_rates((0.1, 10.0), 2, |_| Ok(1.0)).expect("settings in range");
        assert_eq!(found.rates.len(), 3);
        let pairs = found.rates.iter().zip([0.1, 1.0, 10.0]);
        assert!(
            pairs
                .into_iter()
                .all(|(rate, expected)| (rate / expected - 1.0).abs() < 1e-12)
        );
        for (rates, steps) in [((0.0, 1.0), 9), ((0.1, 0.1), 9), ((0.1, 1.0), 1)] {
            assert!(growing_rates(rates, steps, |_| Ok(1.0)).is_err());
        }
        assert!(growing_rates((0.1, 1.0), 9, |_| anyhow::bail!("stopped")).is_err());
    }
}

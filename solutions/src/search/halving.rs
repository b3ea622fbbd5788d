//! Successive halving: most trials are stopped early.

use serde::Serialize;

/// Trials that train up to `epochs` epochs in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rung {
    /// Epochs of a trial since its start.
    pub epochs: u64,
    /// Number of trials.
    pub trials: usize,
}

/// The rungs of successive halving (Jamieson and Talwalkar 2016): rung k, counted from 0, has min(most, fewest·eta^k) epochs
/// and ⌊trials/eta^k⌋ trials. The last rung is the first with `most` epochs or, before that, the last that has a trial.
///
/// `eta` is at least 2, `trials` and `fewest` are at least 1, and `fewest` is at most `most`.
pub fn rungs(mut trials: usize, fewest: u64, most: u64, eta: u64) -> Vec<Rung> {
    let (mut epochs, mut rungs) = (fewest.min(most), Vec::new());
    while trials > 0 {
        rungs.push(Rung { epochs, trials });
        if epochs == most {
            break;
        }
        epochs = epochs.saturating_mul(eta).min(most);
        trials = (trials as u64 / eta) as usize;
    }
    rungs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rung_has_most_epochs_or_the_last_trial() {
        for (of, expected) in [
            ((27, 1, 27, 3), &[(1, 27), (3, 9), (9, 3), (27, 1)][..]),
            // Capped.
            ((20, 2, 9, 2), &[(2, 20), (4, 10), (8, 5), (9, 2)]),
            // No trial is left.
            ((5, 1, 100, 4), &[(1, 5), (4, 1)]),
            ((1, 3, 100, 2), &[(3, 1)]),
            ((8, 7, 7, 2), &[(7, 8)]),
            ((3, 1, u64::MAX, u64::MAX), &[(1, 3)]),
        ] {
            let (trials, fewest, most, eta) = of;
            let found = rungs(trials, fewest, most, eta);
            let found: Vec<_> = found.iter().map(|rung| (rung.epochs, rung.trials)).collect();
            assert_eq!(found, expected, "{of:?}");
        }
    }
}

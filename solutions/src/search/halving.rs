//! Successive halving: most trials are stopped early.

use serde::Serialize;

// ANCHOR: Rung
/// Trials that train up to `epochs` epochs in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rung {
    /// Epochs of a trial since its start.
    pub epochs: u64,
    /// Number of trials.
    pub trials: usize,
}
// ANCHOR_END: Rung

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

//! ASHA: successive halving in which no worker waits.

use super::best_first;

// ANCHOR: Scored
/// A trial that completed a rung.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Its number.
    pub trial: usize,
    /// Its score at this rung: higher is better; NaN is worst.
    pub score: f64,
    /// Whether it was promoted to the next rung.
    pub promoted: bool,
}
// ANCHOR_END: Scored

/// The rung and the trial to promote when a worker is free (Li et al. 2020, algorithm 2). `None`: start a new trial.
///
/// From the highest rung but the last down, it is the best trial that is not promoted yet and is among the best ⌊n/eta⌋ of the n
/// trials that completed this rung. Of equal scores, the trial that completed first, earlier in the list, is better.
pub fn promotion(rungs: &[Vec<Scored>], eta: usize) -> Option<(usize, usize)> {
    let below_last = &rungs[..rungs.len().saturating_sub(1)];
    below_last.iter().enumerate().rev().find_map(|(k, rung)| {
        let mut ranked: Vec<&Scored> = rung.iter().collect();
        ranked.sort_by(|a, b| best_first(a.score, b.score));
        let mut best = ranked.into_iter().take(rung.len() / eta);
        Some((k, best.find(|scored| !scored.promoted)?.trial))
    })
}

//! Lesson 13: Searching on a budget. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson13` checks the lesson, `cargo test -p lesson13 13.1` one exercise, and
//! `cargo course hint 13.1` shows a hint.

use canopy::search::{Cost, Estimate, Halving, Heir, Member, Parameter, Range, Rung, Scored, Value};
use canopy_data::Philox;

/// Draws a trial's hyper-parameters, in order.
///
/// Each takes one `uniform()` u of `Philox::new(seed, trial)`, even if its condition leaves it out: `low·(high/low)^u`,
/// `low + u·(high − low)`, or choice `⌊u·n⌋`. A condition on a parameter left out does not hold.
pub fn draw(space: &[Parameter], seed: u64, trial: u64) -> Vec<(String, Value)> {
    todo!("13.1: a random number for each parameter, its value, and whether its condition holds")
}

/// In rung k, `⌊trials/eta^k⌋` trials train up to `min(most, fewest·eta^k)` epochs.
///
/// The last rung is the first with `most` epochs, or an earlier one after which no trial is left.
pub fn rungs(trials: usize, fewest: u64, most: u64, eta: u64) -> Vec<Rung> {
    todo!("13.2: more epochs and fewer trials from rung to rung")
}

/// Returns rung and trial to promote: from the second-to-last rung down, the best trial not promoted among the best
/// `⌊n/eta⌋` of all n trials. Of equals, the first is better.
pub fn promotion(rungs: &[Vec<Scored>], eta: usize) -> Option<(usize, usize)> {
    todo!("13.3: rank each rung, from the top down")
}

/// Returns each member's heir.
///
/// In order of index, each of the worst `k = ⌊share·n⌋` copies weights and values of `best[random.below(k)]`, best
/// first, then multiplies each number by `[0.8, 1.25][random.below(2)]`, clamped to its range. A number of a `Choice`
/// draws nothing and stays. NaN is worst; of equal scores, the first is better.
pub fn exploit_and_explore(
    members: &[Member],
    space: &[Parameter],
    share: f64,
    random: &mut Philox,
) -> Vec<Heir> {
    todo!("13.4: rank the members; the worst copy the best, and perturb the copy")
}

/// Returns the cost of a search: a rung costs only the epochs beyond the rung before. A trial trains an epoch in
/// `seconds`, on `devices` devices of `watts` each.
pub fn cost(rungs: &[Rung], seconds: f64, devices: usize, watts: f64) -> Cost {
    todo!("13.5: epochs, then hours, then energy")
}

/// Returns the greatest number of trials whose `rungs` take at most `hours` device hours, or 0 if not even one trial
/// fits.
pub fn trials_within(hours: f64, of: &Halving, seconds: f64, devices: usize) -> usize {
    todo!("13.5: more trials, until they are too expensive")
}

/// Estimates the best trial's accuracy. `correct[t][i]`: whether trial t classifies cloud i of n correctly.
///
/// `draws` times, draw n clouds by `random.below(n)`, select the trial with the most correct of these, take its accuracy
/// on the clouds not drawn. `corrected` is the mean over draws that leave a cloud out, or else `apparent`. Of equal
/// trials, the first is selected.
pub fn corrected_estimate(correct: &[Vec<bool>], draws: usize, random: &mut Philox) -> Estimate {
    todo!("13.6: select on the clouds drawn, score on the others")
}

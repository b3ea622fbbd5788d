//! Hyper-parameter search on a budget: random search, successive halving, ASHA, population-based training. `canopy sweep`
//! runs it, and has Bayesian search of a crate besides.
//!
//! A score is higher for a better trial, such as the accuracy on the validation set. A trial that diverged has the score NaN,
//! which is worse than every number.

mod asha;
mod cost;
mod estimate;
mod halving;
mod population;
mod space;

use std::cmp::Ordering;

pub use asha::{Scored, promotion};
pub use cost::{Cost, Halving, cost, trials_within};
pub use estimate::{Estimate, corrected_estimate};
pub use halving::{Rung, rungs};
pub use population::{Heir, Member, exploit_and_explore};
pub use space::{Parameter, Range, Value, draw, drawn};

/// Orders scores from the best to the worst; NaN is last.
fn best_first(a: f64, b: f64) -> Ordering {
    let numbers = || b.partial_cmp(&a).unwrap_or(Ordering::Equal);
    a.is_nan().cmp(&b.is_nan()).then_with(numbers)
}

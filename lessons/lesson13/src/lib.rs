//! Lesson 13: Searching on a budget.

// The lines of the hints are as they are shown there.
#[rustfmt::skip]
mod answers;
mod cost;
mod draw;
mod estimate;
mod population;
mod promotion;
mod right;
mod rungs;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use canopy::search::{self, Cost, Estimate, Halving, Heir, Member, Parameter, Rung, Scored, Value};
use canopy_data::Philox;

grader::contract! {
    pub struct Lesson13 of exercise13 with draw, rungs, promotion, population, cost, estimate;
    "13.1" draw: fn(&[Parameter], u64, u64) -> Vec<(String, Value)> = search::draw;
    "13.2" rungs: fn(usize, u64, u64, u64) -> Vec<Rung> = search::rungs;
    "13.3" promotion: fn(&[Vec<Scored>], usize) -> Option<(usize, usize)> = search::promotion;
    "13.4" exploit_and_explore: fn(&[Member], &[Parameter], f64, &mut Philox) -> Vec<Heir>
        = search::exploit_and_explore;
    "13.5" cost: fn(&[Rung], f64, usize, f64) -> Cost = search::cost;
    "13.5" trials_within: fn(f64, &Halving, f64, usize) -> usize = search::trials_within;
    "13.6" corrected_estimate: fn(&[Vec<bool>], usize, &mut Philox) -> Estimate = search::corrected_estimate;
}

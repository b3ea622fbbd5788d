//! Lesson 07: large batches.

mod accumulate;
mod answers;
mod cycle;
mod decay;
mod lamb;
mod landscape;
mod lars;
mod layers;
mod range;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;
mod warmup;

use candle_core::{Result, Tensor, Var};
use canopy::optim::{self, AdamState, LambConfig, LarsConfig};
use canopy::schedule::{self, Decay, OneCycle, RangeFound};

/// Gives the gradients of a micro-batch.
pub type Gradients<'a> = &'a mut dyn FnMut(usize) -> Result<Vec<Tensor>>;

grader::contract! {
    pub struct Lesson07 of exercise07 with warmup, cycle, decay, range, lars, lamb, accumulate, landscape;
    "7.1" scaled_warmup: fn(u64, u64, f64, usize, usize) -> f64 = schedule::scaled_warmup;
    "7.2" one_cycle: fn(&OneCycle, u64) -> Option<(f64, f64)> = schedule::one_cycle;
    "7.3" decayed: fn(&Decay, u64, f64, f64) -> f64 = schedule::decayed;
    "7.4" range_test: fn(&[f64], f64, f64, &mut dyn FnMut(f64) -> f64) -> RangeFound = schedule::range_test;
    "7.5" lars_step: fn(&[Var], &[Tensor], &[Var], f64, &LarsConfig) -> Result<()> = optim::lars_step;
    "7.6" lamb_step: fn(&[Var], &[Tensor], &mut AdamState, f64, &LambConfig) -> Result<()> = optim::lamb_step;
    "7.7" accumulated: fn(&[f64], Gradients) -> Result<Vec<Tensor>> = optim::accumulated;
    "7.8" loss_along: fn(&[Var], &[Tensor], &[f64], &mut dyn FnMut() -> Result<f64>) -> Result<Vec<f64>>
        = optim::loss_along;
}

/// A number with three decimals, which is short when it is shown.
fn drawn(draw: &mut grader::Draw, low: f64, high: f64) -> f64 {
    (draw.number(low, high) * 1e3).round() / 1e3
}

/// The error that a function of the checks returns to the answer.
const FAILURE: &str = "out of memory";

/// How a call ended: only [`FAILURE`] is the error to return.
fn ending<T>(result: &Result<T>) -> String {
    match result {
        Ok(_) => "Ok".into(),
        Err(error) if error.to_string().contains(FAILURE) => FAILURE.into(),
        Err(error) => error.to_string(),
    }
}

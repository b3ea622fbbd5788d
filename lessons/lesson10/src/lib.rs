//! Lesson 10: splitting the model.

// The lines of the hints are as they are shown there.
#[rustfmt::skip]
#[allow(clippy::let_and_return, clippy::unwrap_used, reason = "as a student writes it")]
mod answers;
mod bubble;
mod candidate;
mod column;
mod gpipe;
mod layer;
mod one_f_one_b;
mod order;
mod planner;
mod right;
mod row;
pub mod simulate;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use anyhow::Result;
use candle_core::Tensor;
use canopy::{
    parallel::Collective,
    shard::Stage,
    split::{self, Action, Choice, LinearGrads, Machine, Work},
};

grader::contract! {
    pub struct Lesson10 of exercise10 with column, row, gpipe, one_f_one_b, bubble, candidate, planner;
    "10.1" column_parallel: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor> = split::column_parallel;
    "10.1" column_parallel_backward: fn(&dyn Collective, &Tensor, &Tensor, &Tensor) -> Result<LinearGrads>
        = split::column_parallel_backward;
    "10.2" row_parallel: fn(&dyn Collective, &Tensor, &Tensor, &Tensor) -> Result<Tensor> = split::row_parallel;
    "10.2" row_parallel_backward: fn(&Tensor, &Tensor, &Tensor) -> Result<LinearGrads> = split::row_parallel_backward;
    "10.3" gpipe_order: fn(usize, usize, usize) -> Vec<Action> = split::gpipe_order;
    "10.4" one_f_one_b_order: fn(usize, usize, usize) -> Vec<Action> = split::one_f_one_b_order;
    "10.5" bubble: fn(usize, usize) -> f64 = split::bubble;
    "10.5" activations_held: fn(&[Action]) -> usize = split::activations_held;
    "10.6" candidate: fn(&Work, &Machine, u64, u64, Stage) -> Choice = split::candidate;
    "10.7" choose: fn(&Work, &Machine) -> Choice = split::choose;
}

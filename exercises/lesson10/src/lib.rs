//! Lesson 10: splitting the model. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson10` checks the lesson, `cargo test -p lesson10 10.2` one exercise. `cargo course hint 10.2`
//! shows a hint.

use anyhow::Result;
use candle_core::Tensor;
use canopy::{
    parallel::Collective,
    shard::{Stage, bytes_per_rank},
    split::{Action, Choice, LinearGrads, Machine, Work, sum_over_ranks},
};

/// Returns this rank's outputs of `x·Wᵀ + b`, `[rows, outputs]`. `x`, `[rows, inputs]`, is the same on every rank.
/// `weight`, `[outputs, inputs]`, has this rank's rows of W, and `bias` its part of b.
pub fn column_parallel(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    todo!("10.1: the product with this rank's rows, and its part of the bias")
}

/// Returns the gradients of `column_parallel`, given the gradient `grad_y` of this rank's outputs. The gradient of
/// `x` is summed over all ranks, by one call of `sum_over_ranks`. Returns its error.
pub fn column_parallel_backward(
    collective: &dyn Collective,
    x: &Tensor,
    weight: &Tensor,
    grad_y: &Tensor,
) -> Result<LinearGrads> {
    todo!("10.1: three gradients, one of them summed over the ranks")
}

/// Returns all outputs of `x·Wᵀ + b`, `[rows, outputs]`. `x_part`, `[rows, inputs]`, and `weight_part`,
/// `[outputs, inputs]`, are this rank's columns of x and W; `bias` is b. Calls `sum_over_ranks` once, and returns its
/// error.
pub fn row_parallel(
    collective: &dyn Collective,
    x_part: &Tensor,
    weight_part: &Tensor,
    bias: &Tensor,
) -> Result<Tensor> {
    todo!("10.2: this rank's part of the sum, the sum over the ranks, the bias")
}

/// Returns the gradients of `row_parallel`, given the gradient `grad_y` of all outputs, which is the same on every
/// rank. Sends nothing.
pub fn row_parallel_backward(x_part: &Tensor, weight_part: &Tensor, grad_y: &Tensor) -> Result<LinearGrads> {
    todo!("10.2: three gradients, without a message")
}

/// Returns GPipe's order of the passes, the same on every stage: all forward passes, then all backward passes, both
/// in ascending order of the micro-batches.
pub fn gpipe_order(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    todo!("10.3: all forward, then all backward")
}

/// Returns the 1F1B order of the passes on stage `stage`, both kinds in ascending order of the micro-batches:
///
/// - One forward pass for each stage that follows, at most `micro_batches`.
/// - A forward and a backward pass in turns, until no forward pass is left.
/// - The remaining backward passes.
pub fn one_f_one_b_order(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    todo!("10.4: warm up, take turns, finish")
}

/// Returns the bubble of a pipeline of equal stages: the idle time of a stage, divided by the time in which it
/// computes. It may exceed 1.
pub fn bubble(stages: usize, micro_batches: usize) -> f64 {
    todo!("10.5: idle over computing")
}

/// Returns the most micro-batches whose activations a stage keeps at one time, from their forward to their backward
/// pass. `order` may be any schedule, or the beginning of one.
pub fn activations_held(order: &[Action]) -> usize {
    todo!("10.5: count up, count down, remember the greatest")
}

/// Returns what a rank keeps if the model is split in this way. `Choice` says how its other fields follow.
pub fn candidate(work: &Work, machine: &Machine, tensor: u64, pipeline: u64, stage: Stage) -> Choice {
    todo!("10.6: parts, data, share, bytes")
}

/// Returns the first of these candidates that fits, or else the first with the fewest bytes.
///
/// - Data parallelism with `Zero0`, `Zero1`, `Zero2` and, if there is one node or `between >= inside`, `Zero3`.
/// - `Zero0` with `tensor` = each divisor of `ranks_per_node`, ascending.
/// - `Zero0` with `tensor = ranks_per_node` and `pipeline` = each divisor of `nodes` up to `layers`, ascending.
pub fn choose(work: &Work, machine: &Machine) -> Choice {
    todo!("10.7: the candidates, the first that fits")
}

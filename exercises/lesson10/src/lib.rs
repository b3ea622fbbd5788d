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

/// Returns this rank's outputs, `[rows, outputs]`, of a linear layer x·Wᵀ + b.
///
/// `x`, `[rows, inputs]`, is the same on every rank. `weight`, `[outputs, inputs]`, has this rank's rows of W, and
/// `bias`, `[outputs]`, is its part of b.
pub fn column_parallel(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    todo!("10.1: the product with this rank's rows, and its part of the bias")
}

/// Returns the gradients of `column_parallel`, given the gradient `grad_y` of this rank's outputs.
///
/// Sum the gradient of `x` over all ranks by one call of `sum_over_ranks`, and send nothing else. If the call fails,
/// return its error.
pub fn column_parallel_backward(
    collective: &dyn Collective,
    x: &Tensor,
    weight: &Tensor,
    grad_y: &Tensor,
) -> Result<LinearGrads> {
    todo!("10.1: three gradients, one of them summed over the ranks")
}

/// Returns all outputs, `[rows, outputs]`, of a linear layer x·Wᵀ + b.
///
/// `x_part`, `[rows, inputs]`, and `weight_part`, `[outputs, inputs]`, are this rank's columns of x and W. Each output
/// contains `bias`, `[outputs]`, once. Sum the outputs by one call of `sum_over_ranks`, and send nothing else. If the
/// call fails, return its error.
pub fn row_parallel(
    collective: &dyn Collective,
    x_part: &Tensor,
    weight_part: &Tensor,
    bias: &Tensor,
) -> Result<Tensor> {
    todo!("10.2: this rank's part of the sum, the sum over the ranks, the bias")
}

/// Returns the gradients of `x_part`, `weight_part` and `bias` in `row_parallel`, given the gradient `grad_y` of all
/// outputs.
///
/// `grad_y`, `[rows, outputs]`, is the same on every rank, and so is the gradient of `bias`.
pub fn row_parallel_backward(x_part: &Tensor, weight_part: &Tensor, grad_y: &Tensor) -> Result<LinearGrads> {
    todo!("10.2: three gradients, without a message")
}

/// Returns GPipe's order of the passes, the same on every stage: all forward passes, then all backward passes.
///
/// Both are in ascending order of the micro-batches. Without micro-batches, the order is empty.
pub fn gpipe_order(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    todo!("10.3: all forward, then all backward")
}

/// Returns the 1F1B order of the passes on stage `stage`:
///
/// - One forward pass for each stage that follows, but at most `micro_batches`.
/// - A forward and a backward pass in turns, until no forward pass is left.
/// - The remaining backward passes.
///
/// Both kinds are in ascending order of the micro-batches.
pub fn one_f_one_b_order(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    todo!("10.4: warm up, take turns, finish")
}

/// Returns the bubble of a pipeline of equal stages: the idle time of a stage, divided by the time in which it
/// computes.
///
/// A stage is idle while one micro-batch passes through each of the other stages, forward and back. The bubble may
/// exceed 1.
pub fn bubble(stages: usize, micro_batches: usize) -> f64 {
    todo!("10.5: idle over computing")
}

/// Returns the largest number of micro-batches whose activations a stage keeps at one time.
///
/// A forward pass stores the activations of its micro-batch, and its backward pass releases them. `order` may belong to
/// any schedule, lack backward passes at the end, or be empty.
pub fn activations_held(order: &[Action]) -> usize {
    todo!("10.5: count up, count down, remember the greatest")
}

/// Returns the first of these candidates that fits in memory. If none fits, returns the one with the fewest bytes, the
/// first of equals.
///
/// - Data parallelism, `tensor` and `pipeline` 1: with `Zero0`, then with `Zero1`, then with `Zero2`.
/// - The same with `Zero3`, if there is one node or `between` is at least `inside`.
/// - `tensor` = each divisor of `ranks_per_node` above 1, ascending; `pipeline` 1, `Zero0`.
/// - `pipeline` = each divisor of `nodes` above 1 and up to `layers`, ascending; `tensor` = `ranks_per_node`, `Zero0`.
///
/// With parts = `tensor` · `pipeline`, `data` is the number of ranks / parts. The share of a copy is `batch` / `data`
/// samples. `bytes` is the sum of `bytes_per_rank(parameters / parts, each, stage, data)`, plus the activations of
/// min(`pipeline`, `micro_batches`) micro-batches, `activations` / parts bytes for each sample. `fits` is whether
/// `bytes` is at most `memory`.
///
/// With a pipeline, `micro_batch` is 1. Without a pipeline, it is the largest that fits, but at least 1 and at most the
/// share. `micro_batches` is the share / `micro_batch`. All quotients are rounded up.
pub fn choose(work: &Work, machine: &Machine) -> Choice {
    todo!("10.6: the candidates, what each keeps, the first that fits")
}

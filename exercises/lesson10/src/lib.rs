//! Lesson 10: splitting the model. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson10` checks the lesson, `cargo test -p lesson10 10.2` one exercise. `cargo course hint 10.2` shows a
//! hint.

use anyhow::Result;
use candle_core::Tensor;
use canopy::{
    parallel::Collective,
    shard::{Stage, bytes_per_rank},
    split::{Action, Choice, LinearGrads, Machine, Work, sum_over_ranks},
};

/// This rank's outputs of a linear layer x·Wᵀ + b whose outputs are split over the ranks: `[rows, outputs]`.
///
/// `x`, `[rows, inputs]`, is the same on every rank. `weight`, `[outputs, inputs]`, is this rank's rows of W, and `bias`,
/// `[outputs]`, is its part of b. The ranks may have different numbers of outputs.
pub fn column_parallel(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    todo!("10.1: the product with this rank's rows, and its part of the bias")
}

/// The gradients of `column_parallel`. `grad_y`, `[rows, outputs]`, is the gradient of this rank's outputs.
///
/// The gradient of `x` is the sum over all ranks, because every rank has read all of `x`: sum it by one call of
/// `sum_over_ranks`, and send nothing else. If the call returns an error, return it. The gradients of `weight` and `bias`
/// are those of this rank's part, and stay on this rank.
pub fn column_parallel_backward(
    collective: &dyn Collective,
    x: &Tensor,
    weight: &Tensor,
    grad_y: &Tensor,
) -> Result<LinearGrads> {
    todo!("10.1: three gradients, one of them summed over the ranks")
}

/// All outputs of a linear layer x·Wᵀ + b whose inputs are split over the ranks, on every rank: `[rows, outputs]`.
///
/// `x_part`, `[rows, inputs]`, is this rank's columns of x, and `weight_part`, `[outputs, inputs]`, the same columns of W.
/// `bias`, `[outputs]`, is all of b and is added once, not once a rank. Sum the outputs by one call of `sum_over_ranks`, and
/// send nothing else. If the call returns an error, return it.
pub fn row_parallel(
    collective: &dyn Collective,
    x_part: &Tensor,
    weight_part: &Tensor,
    bias: &Tensor,
) -> Result<Tensor> {
    todo!("10.2: this rank's part of the sum, the sum over the ranks, the bias")
}

/// The gradients of `row_parallel`. `grad_y`, `[rows, outputs]`, is the gradient of all outputs, the same on every rank.
///
/// The gradients of `x_part` and `weight_part` are those of this rank's columns. The gradient of `bias` is that of the
/// whole bias, computed on every rank.
pub fn row_parallel_backward(x_part: &Tensor, weight_part: &Tensor, grad_y: &Tensor) -> Result<LinearGrads> {
    todo!("10.2: three gradients, without a message")
}

/// GPipe's order of the forward and backward passes of `micro_batches` micro-batches, the same on every stage.
///
/// First come all forward passes, then all backward passes, each in ascending order of the micro-batches. Without
/// micro-batches, the order is empty.
pub fn gpipe_order(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    todo!("10.3: all forward, then all backward")
}

/// The 1F1B order of the forward and backward passes of `micro_batches` micro-batches on stage `stage` of `stages`.
///
/// It begins with one forward pass for each stage that follows this one, or, if there are fewer micro-batches than that, for
/// each of them. Then a forward and a backward pass take turns until no forward pass is left. At the end come the backward
/// passes that are left. Both kinds are in ascending order. Without micro-batches, the order is empty.
pub fn one_f_one_b_order(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    todo!("10.4: warm up, take turns, finish")
}

/// The bubble of a pipeline of `stages` ≥ 1 equal stages with `micro_batches` ≥ 1: the time in which a stage is idle,
/// divided by the time in which it computes.
///
/// A stage is idle while one micro-batch passes through each of the other stages, forward and back. A single stage is never
/// idle. With fewer than `stages` − 1 micro-batches, the bubble exceeds 1.
pub fn bubble(stages: usize, micro_batches: usize) -> f64 {
    todo!("10.5: idle over computing")
}

/// The greatest number of micro-batches whose activations a stage keeps at one time in this order.
///
/// A forward pass stores the activations of its micro-batch, and its backward pass releases them. It may be the order of any
/// schedule, and backward passes may be missing at the end. An empty order keeps none.
pub fn activations_held(order: &[Action]) -> usize {
    todo!("10.5: count up, count down, remember the greatest")
}

/// The simplest way that fits in memory to spread a training step over all ranks of a machine. `stage` is the stage of
/// ZeRO (lesson 09). These are the candidates, in this order:
///
/// - Data parallelism: `tensor` 1, `pipeline` 1, `Zero0`; then with `Zero1`, then with `Zero2`.
/// - The same with `Zero3`, if there is one node or `between` is at least `inside`.
/// - For each divisor of `ranks_per_node` above 1, ascending: this `tensor`, `pipeline` 1, `Zero0`.
/// - For each divisor of `nodes` above 1 and up to `layers`, ascending: this `pipeline`, `tensor` = `ranks_per_node`,
///   `Zero0`.
///
/// With parts = `tensor` · `pipeline`, there are `data` = ranks / (`tensor` · `pipeline`) copies of the model, and a copy's
/// share is `batch` / `data` samples, rounded up. A rank keeps the sum of `bytes_per_rank(parameters / parts, each, stage,
/// data)` and `activations` / parts bytes of each sample in its memory, both quotients rounded up.
///
/// Without a pipeline, `micro_batch` is the largest that fits beside the model, but at least 1 and at most the share; with a
/// pipeline it is 1. `micro_batches` is the share / `micro_batch`, rounded up. A rank keeps the activations of
/// min(`pipeline`, `micro_batches`) micro-batches. `bytes` is all that it keeps, and `fits` is whether that is at most the
/// memory of a rank.
///
/// Returns the first candidate that fits. If none fits, returns the one with the fewest bytes, the first of equals.
pub fn choose(work: &Work, machine: &Machine) -> Choice {
    todo!("10.6: the candidates, what each keeps, the first that fits")
}

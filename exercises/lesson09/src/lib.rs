//! Lesson 09: sharding. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson09` checks the lesson, `cargo test -p lesson09 9.2` one exercise. `cargo course hint 9.2` shows
//! a hint.

use anyhow::{Context, Result, bail, ensure};
use canopy::{
    parallel::{Collective, chunk},
    precision::BytesPerParameter,
    shard::{
        BatchSizes, BatchWanted, EngineState, LayerBackward, LayerForward, Memory, Outcome, Sharded, Slice,
        Stage, Update,
    },
};

/// The parts of the parameters that rank `rank` owns: its `chunk` of all elements, laid end to end. Parameter i has
/// `sizes[i]` elements.
///
/// There is one part for each parameter that the chunk touches, in order; its range counts from the parameter's own
/// first element. No part is empty.
pub fn slices_of_rank(sizes: &[usize], rank: usize, world_size: usize) -> Vec<Slice> {
    todo!("9.1: where the rank's chunk meets each parameter")
}

/// A step of ZeRO's stage 1. Replaces `gradients` by the mean over the ranks (one `collective.all_reduce`), calls
/// `update` once with this rank's `chunk` of `params` and of `gradients`, and makes `params` equal on all ranks (one
/// `collective.all_gather`).
///
/// Sends nothing else. Chunks may be uneven or empty. Returns the error of any call at once.
pub fn stage1_step(
    collective: &dyn Collective,
    params: &mut [f32],
    gradients: &mut [f32],
    update: &mut Update,
) -> Result<()> {
    todo!("9.2: all-reduce, update the own part, all-gather")
}

/// The gradients of ZeRO's stage 2: this rank's `chunk` of the mean of `gradients` over the ranks. Calls
/// `collective.reduce_scatter` once, sends nothing else, and returns its error.
///
/// The result has little more memory (`capacity()`) than its chunk needs. Chunks may be uneven or empty.
pub fn reduce_gradients(collective: &dyn Collective, gradients: Vec<f32>) -> Result<Vec<f32>> {
    todo!("9.3: reduce-scatter, divide")
}

/// The forward pass of ZeRO's stage 3 over `layers`, from the first to the last.
///
/// Each layer, even an empty one, is gathered by one `all_gather` into a `memory.buffer(layer.length)` for
/// `work(index, &buffer)`, and released before the next. Returns the error of any call at once.
pub fn forward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerForward,
) -> Result<()> {
    todo!("9.4: gather, use, release")
}

/// The backward pass of ZeRO's stage 3, from the last to the first layer, each gathered and released as in the forward
/// pass.
///
/// `work(index, &buffer)` returns this rank's gradients of a layer, which are reduced at once, as by
/// `reduce_gradients`. Returns the results in the order of `layers`.
pub fn backward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerBackward,
) -> Result<Vec<Vec<f32>>> {
    todo!("9.4: gather again, from the last layer, and reduce")
}

/// The bytes that each of `ranks` ranks keeps: `[weights, gradients, optimizer]`. Master weights count as weights.
///
/// Without sharding, a rank keeps everything. Stage 1 shares the optimizer's state and the master weights, stage 2 also
/// the gradients, and stage 3 also the weights: a share is `parameters`/`ranks`, rounded up. There may be 10¹²
/// parameters.
pub fn bytes_per_rank(parameters: u64, each: BytesPerParameter, stage: Stage, ranks: u64) -> [u64; 3] {
    todo!("9.5: what is shared, what is not")
}

/// How many numbers each of `ranks` ranks sends in a step with ring collectives. A reduce-scatter and an all-gather
/// send (`ranks` − 1) chunks each, of `parameters`/`ranks` numbers, rounded up. Stages 0 to 2 have one of each, and
/// stage 3 gathers once more.
pub fn numbers_sent(parameters: u64, stage: Stage, ranks: u64) -> u64 {
    todo!("9.5: how many passes of a ring, and how long each is")
}

/// The batch sizes on `world_size` ranks: train = micro × accumulation × `world_size`. If two are given, the third
/// follows; if only `train` or `micro` is, accumulation is 1.
///
/// Returns an error if neither is given, a number is 0, the sizes contradict each other, or a division has a remainder.
/// The last two errors contain all given sizes and `world_size`.
pub fn settle_batch(wanted: BatchWanted, world_size: usize) -> Result<BatchSizes> {
    todo!("9.6: what is given, what follows, and whether it is possible")
}

/// Adds `gradients`, divided by `state.accumulation`, to `state.gradients`, and 1 to `state.micro_batches`. Before a
/// step these are an empty list and 0.
///
/// Returns an error if the step has all its micro-batches, or if `gradients` has another length than those before it in
/// the step.
pub fn engine_backward(state: &mut EngineState, gradients: &[f32]) -> Result<()> {
    todo!("9.7: add to the mean, and count")
}

/// Returns `Outcome::Accumulating` before the last micro-batch of a step. After it, takes a step of stage 2 on
/// `params`:
///
/// - g is this rank's chunk of the mean of `state.gradients` (9.3), divided by `state.scaler.scale()`. The list is then
///   empty, and `state.micro_batches` is 0.
/// - The ranks agree on norm² = Σg² by one all-reduce of one or two numbers.
/// - If norm² is infinite or NaN, no rank calls `update` or gathers: `Outcome::Skipped`.
/// - Otherwise g ← g·clip/norm if norm > `state.clip` > 0, then `update` and gather as in 9.2. `Outcome::Taken` has the
///   norm before clipping.
/// - Call `state.scaler.update(found_inf)` once at the end. Return the error of any call at once.
pub fn engine_step(
    state: &mut EngineState,
    collective: &dyn Collective,
    params: &mut [f32],
    update: &mut Update,
) -> Result<Outcome> {
    todo!("9.7: reduce, agree, then step or skip")
}

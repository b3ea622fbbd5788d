//! Lesson 09: sharding. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson09` checks the lesson, `cargo test -p lesson09 9.2` one exercise. `cargo course hint 9.2` shows a
//! hint.

use anyhow::{Context, Result, bail, ensure};
use canopy::{
    parallel::{Collective, chunk},
    precision::BytesPerParameter,
    shard::{
        BatchSizes, BatchWanted, EngineState, LayerBackward, LayerForward, Memory, Outcome, Sharded, Slice,
        Stage, Update,
    },
};

/// The parts of the parameters that rank `rank` of `world_size` owns: its `chunk` of all elements, laid end to end.
/// `sizes` has the number of elements of each parameter.
///
/// There is one part for each parameter that the chunk touches, in order, with a range that counts from the
/// parameter's own first element. No part is empty.
pub fn slices_of_rank(sizes: &[usize], rank: usize, world_size: usize) -> Vec<Slice> {
    todo!("9.1: where the rank's chunk meets each parameter")
}

/// A step of ZeRO's stage 1 on `params`, equal on all ranks before and after. `gradients` are this rank's; afterwards
/// they are the mean over the ranks.
///
/// It calls `collective.all_reduce`, `update` with this rank's `chunk` of both lists (the same chunk in every step)
/// and `collective.all_gather` once each, and sends nothing else. Chunks may be uneven or empty. It returns the error
/// of any call.
pub fn stage1_step(
    collective: &dyn Collective,
    params: &mut [f32],
    gradients: &mut [f32],
    update: &mut Update,
) -> Result<()> {
    todo!("9.2: all-reduce, update the own part, all-gather")
}

/// The gradients of ZeRO's stage 2: this rank's `chunk` of the mean over the ranks. `gradients` are this rank's, of
/// all parameters.
///
/// It calls `collective.reduce_scatter` once and sends nothing else. The result has little more memory (`capacity()`)
/// than its chunk needs. Chunks may be uneven or empty. Returns its error, if there is one.
pub fn reduce_gradients(collective: &dyn Collective, gradients: Vec<f32>) -> Result<Vec<f32>> {
    todo!("9.3: reduce-scatter, divide")
}

/// The forward pass of ZeRO's stage 3 over `layers`, from the first to the last. `layer.own` is this rank's chunk of
/// the `layer.length` parameters.
///
/// Each layer, also an empty one, is gathered by one `all_gather` into a `memory.buffer(layer.length)` for
/// `work(index, &buffer)`, and then released: there are never buffers of two layers. It returns the error of any
/// call.
pub fn forward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerForward,
) -> Result<()> {
    todo!("9.4: gather, use, release")
}

/// The backward pass of ZeRO's stage 3, from the last to the first layer. Returns this rank's `chunk` of the mean
/// gradients of each layer, in the order of `layers`.
///
/// Each layer is gathered again, as in the forward pass. `work(index, &buffer)` returns this rank's gradients of it,
/// which are reduced at once, as `reduce_gradients` does.
pub fn backward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerBackward,
) -> Result<Vec<Vec<f32>>> {
    todo!("9.4: gather again, from the last layer, and reduce")
}

/// The bytes that each of `ranks` ranks keeps: `[weights, gradients, optimizer]`. `each` has the bytes per parameter;
/// master weights count as weights.
///
/// Without sharding, a rank keeps everything. Stage 1 shares the optimizer's state and the master weights, stage 2
/// also the gradients, and stage 3 also the weights: a share is `parameters`/`ranks`, rounded up. There may be 10¹²
/// parameters.
pub fn bytes_per_rank(parameters: u64, each: BytesPerParameter, stage: Stage, ranks: u64) -> [u64; 3] {
    todo!("9.5: what is shared, what is not")
}

/// How many numbers each of `ranks` ranks sends in a step, if all collectives are rings.
///
/// A reduce-scatter and an all-gather send (`ranks` − 1) chunks each, of `parameters`/`ranks` numbers, rounded up.
/// Stages 0 to 2 have one of each, and stage 3 gathers once more. One rank alone sends nothing.
pub fn numbers_sent(parameters: u64, stage: Stage, ranks: u64) -> u64 {
    todo!("9.5: how many passes of a ring, and how long each is")
}

/// The batch sizes of a run on `world_size` ranks: train = micro × accumulation × `world_size`.
///
/// If two are given, the third follows; if only `train` or `micro` is, accumulation is 1. It is an error if neither
/// is given, a size or `world_size` is 0, the sizes contradict each other, or a division has a remainder. The last
/// two errors contain all given sizes and `world_size`.
pub fn settle_batch(wanted: BatchWanted, world_size: usize) -> Result<BatchSizes> {
    todo!("9.6: what is given, what follows, and whether it is possible")
}

/// Adds the gradients of a micro-batch, which are those of loss × scale, divided by `state.accumulation`, to
/// `state.gradients`, and counts it in `state.micro_batches`. Before a step these are an empty list and 0.
///
/// It is an error if the step has all its micro-batches, or if the list has another length than those before it in
/// the step.
pub fn engine_backward(state: &mut EngineState, gradients: &[f32]) -> Result<()> {
    todo!("9.7: add to the mean, and count")
}

/// Returns `Outcome::Accumulating` before the last micro-batch of a step. After it, takes a step of stage 2 on
/// `params`:
///
/// - g is this rank's chunk of the mean of `state.gradients` (9.3), divided by `state.scaler.scale()`. The list is
///   then empty, and `state.micro_batches` is 0.
/// - The ranks agree on norm² = Σg² by one all-reduce of one or two numbers.
/// - If a g or norm² is infinite or NaN, no rank calls `update` or gathers: `Outcome::Skipped`.
/// - Otherwise g ← g·clip/norm if norm > `state.clip` > 0; then `update` and gather, as in 9.2. The result is
///   `Outcome::Taken`, with the norm before clipping.
/// - It calls `state.scaler.update(found_inf)` once at the end. It returns the error of any call.
pub fn engine_step(
    state: &mut EngineState,
    collective: &dyn Collective,
    params: &mut [f32],
    update: &mut Update,
) -> Result<Outcome> {
    todo!("9.7: reduce, agree, then step or skip")
}

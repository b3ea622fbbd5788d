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

/// The parts of the parameters that `rank` owns: its `chunk` of all elements, laid end to end. One non-empty part for
/// each parameter that the chunk touches, in order.
pub fn slices_of_rank(sizes: &[usize], rank: usize, world_size: usize) -> Vec<Slice> {
    todo!("9.1: where the rank's chunk meets each parameter")
}

/// A step of stage 1: averages `gradients` by one `collective.all_reduce`, calls `update` once with this rank's `chunk`
/// of both lists, and completes `params` by one `collective.all_gather`. Returns any error at once.
pub fn stage1_step(
    collective: &dyn Collective,
    params: &mut [f32],
    gradients: &mut [f32],
    update: &mut Update,
) -> Result<()> {
    todo!("9.2: all-reduce, update the own part, all-gather")
}

/// This rank's `chunk` of the mean of `gradients` over the ranks, by one `collective.reduce_scatter`. Returns its
/// error. The `capacity()` of the result is at most twice its length.
pub fn reduce_gradients(collective: &dyn Collective, gradients: Vec<f32>) -> Result<Vec<f32>> {
    todo!("9.3: reduce-scatter, divide")
}

/// The forward pass of stage 3: gathers each layer, in order, by one `all_gather` into a `memory.buffer(layer.length)`
/// for `work(index, &buffer)`, and releases it before the next. Returns any error at once.
pub fn forward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerForward,
) -> Result<()> {
    todo!("9.4: gather, use, release")
}

/// The backward pass: layers are gathered and released likewise, from the last to the first. The gradients that `work`
/// returns are reduced at once, as in 9.3. Returns the results in the order of `layers`, or any error at once.
pub fn backward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerBackward,
) -> Result<Vec<Vec<f32>>> {
    todo!("9.4: gather again, from the last layer, and reduce")
}

/// The bytes that a rank keeps: `[weights + masters, gradients, optimizer]`. Stage 1 shards optimizer state and master
/// weights, stage 2 also gradients, stage 3 also weights. A share is `parameters/ranks`, rounded up.
pub fn bytes_per_rank(parameters: u64, each: BytesPerParameter, stage: Stage, ranks: u64) -> [u64; 3] {
    todo!("9.5: what is sharded, what is not")
}

/// The numbers that a rank sends in a step: a reduce-scatter and an all-gather, at stage 3 one more all-gather. Each
/// sends `ranks − 1` chunks of `parameters/ranks` numbers, rounded up.
pub fn numbers_sent(parameters: u64, stage: Stage, ranks: u64) -> u64 {
    todo!("9.5: how many passes of a ring, and how long each is")
}

/// The batch sizes on `world_size` ranks. If two are given, the third follows; if only `train` or `micro` is,
/// accumulation is 1.
///
/// Returns an error if neither `train` nor `micro` is given or any number is 0, and an error that contains all given
/// sizes and `world_size` if no sizes agree.
pub fn settle_batch(wanted: BatchWanted, world_size: usize) -> Result<BatchSizes> {
    todo!("9.6: what is given, what follows, and whether it is possible")
}

/// Adds `gradients`, divided by `state.accumulation`, to `state.gradients`, and 1 to `state.micro_batches`. Returns an
/// error if the step has all micro-batches, or if `gradients` has a different length than before.
pub fn engine_backward(state: &mut EngineState, gradients: &[f32]) -> Result<()> {
    todo!("9.7: add to the mean, and count")
}

/// Returns `Outcome::Accumulating` while micro-batches are missing, then takes a step of stage 2:
///
/// - `g` is `state.gradients`, reduced (9.3) and divided by `state.scaler.scale()`. The sum and its count restart.
/// - One all-reduce sums `norm² = Σg²`. If it is not finite, all ranks skip the step.
/// - Otherwise `g ← g·clip/norm` if `norm > clip > 0`, then `update` and gather (9.2).
/// - Call `state.scaler.update(found_inf)` once. Return any error at once.
pub fn engine_step(
    state: &mut EngineState,
    collective: &dyn Collective,
    params: &mut [f32],
    update: &mut Update,
) -> Result<Outcome> {
    todo!("9.7: reduce, agree, then step or skip")
}

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

/// The parts of the parameters that rank `rank` of `world_size` owns. `sizes` has the number of elements of each
/// parameter, in the order of the model.
///
/// Lay the parameters end to end. The rank owns `chunk(total, rank, world_size)` of this list, where total is the sum of
/// all sizes. A chunk may begin or end in the middle of a parameter. A part names its parameter and the range of the
/// parameter's elements, counted from the parameter's own first element. The parts are in the order of the parameters,
/// one for each parameter that the chunk touches. A parameter may have no elements, and a chunk may be empty. No part is
/// empty. `world_size` is at least 1, and `rank` is below it.
pub fn slices_of_rank(sizes: &[usize], rank: usize, world_size: usize) -> Vec<Slice> {
    todo!("9.1: where the rank's chunk meets each parameter")
}

/// A step of ZeRO's stage 1. `params` has all parameters of the model, end to end; they are equal on all ranks before
/// the step, and must be equal on all ranks after it. `gradients` are this rank's gradients of `params`, in the same
/// order. Afterwards they are the mean over the ranks.
///
/// Sum the gradients by one call of `collective.all_reduce`; divide before or after it. Then call
/// `update(own_params, own_gradients)` once, with this rank's `chunk` of the parameters and the same chunk of the mean
/// gradients: the optimizer behind it keeps state for this part only, and changes the parameters that it gets. Then one
/// call of `collective.all_gather(&mine, params)` gives the new parts of all ranks to every rank. Send nothing else.
///
/// Chunks may differ by one number in length, and some may be empty. A rank with an empty chunk may leave out `update`,
/// but not the other two calls. One rank alone may leave out all collective calls, here and in 9.3, 9.4 and 9.7. If a call
/// returns an error, return it; the lists may then contain anything.
pub fn stage1_step(
    collective: &dyn Collective,
    params: &mut [f32],
    gradients: &mut [f32],
    update: &mut Update,
) -> Result<()> {
    todo!("9.2: all-reduce, update the own part, all-gather")
}

/// The gradients of ZeRO's stage 2: this rank's `chunk` of the mean over the ranks. `gradients` are this rank's, of all
/// parameters of the model.
///
/// One call of `collective.reduce_scatter(&gradients, &mut mine)` writes this rank's chunk of the sum to `mine`, which
/// must be as long as the chunk. Divide before or after the call. It sends half as much as an all-reduce, and nothing
/// else may be sent. Afterwards the memory of the whole list must be free: the list that you return has room for its
/// chunk only (`capacity()`), or for little more. Chunks may differ by one number in length, and some may be empty. If
/// the call returns an error, return it.
pub fn reduce_gradients(collective: &dyn Collective, gradients: Vec<f32>) -> Result<Vec<f32>> {
    todo!("9.3: reduce-scatter, divide")
}

/// The forward pass of ZeRO's stage 3. `layers` are the layers of the model in the order in which they are used. Of the
/// `layer.length` parameters of a layer, this rank has only its own chunk, `layer.own`.
///
/// For each layer, from the first to the last: get a buffer from `memory.buffer(layer.length)`, gather the parameters
/// into it by one call of `collective.all_gather(&layer.own, &mut buffer)`, call `work(index, &buffer)`, which computes
/// with them, and release the buffer. `memory` counts: at no time may it have buffers of more than one layer. A layer
/// may have fewer parameters than there are ranks, or none; it is gathered and used all the same. If a call returns an
/// error, return it.
pub fn forward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerForward,
) -> Result<()> {
    todo!("9.4: gather, use, release")
}

/// The backward pass of ZeRO's stage 3, over the same layers from the last to the first. Returns for each layer, in the
/// order of `layers`, this rank's `chunk` of the mean gradients over the ranks.
///
/// The parameters were released after the forward pass, so each layer is gathered again. Here `work(index, &buffer)`
/// returns this rank's `layer.length` gradients. Reduce them before the next layer is gathered, as `reduce_gradients`
/// does: by one reduce-scatter, and divided. The layer's buffer may be released before or after that. Buffers and errors
/// are as in `forward_sharded`.
pub fn backward_sharded(
    collective: &dyn Collective,
    layers: &[Sharded],
    memory: &Memory,
    work: &mut LayerBackward,
) -> Result<Vec<Vec<f32>>> {
    todo!("9.4: gather again, from the last layer, and reduce")
}

/// The bytes that each of `ranks` ranks keeps of a model of `parameters` parameters: `[weights, gradients, optimizer]`.
/// `each` has the bytes per parameter, each a u32: `each.weight`, `each.master`, `each.gradient`, `each.optimizer`.
///
/// Master weights count as weights, the first of the three. Without sharding (`Stage::Zero0`) every rank keeps
/// everything. Stage 1 shares the optimizer's state and the master weights, stage 2 the gradients as well, and stage 3
/// the weights as well: of what is shared, a rank keeps `parameters`/`ranks` parameters, rounded up. What stage 3
/// gathers for a moment is not counted. There may be 10¹² parameters. `ranks` is at least 1.
pub fn bytes_per_rank(parameters: u64, each: BytesPerParameter, stage: Stage, ranks: u64) -> [u64; 3] {
    todo!("9.5: what is shared, what is not")
}

/// How many numbers each of `ranks` ranks sends in a step, if all collectives are rings.
///
/// A reduce-scatter and an all-gather of n parameters send (`ranks` − 1) chunks each. A chunk is n/`ranks` numbers,
/// rounded up. An all-reduce is a reduce-scatter and an all-gather. Data parallelism and stages 1 and 2 send one of each:
/// stage 1 is counted as it is published, with a reduce-scatter in place of the all-reduce of 9.2. Stage 3 gathers once
/// more, because it released the parameters after the forward pass. One rank alone sends nothing. There may be 10¹²
/// parameters. `ranks` is at least 1.
pub fn numbers_sent(parameters: u64, stage: Stage, ranks: u64) -> u64 {
    todo!("9.5: how many passes of a ring, and how long each is")
}

/// The batch sizes of a run on `world_size` ranks, from those that a user wrote down. They must agree: train = micro ×
/// accumulation × `world_size`.
///
/// If two sizes are given, the third follows. If only `train` or only `micro` is given, accumulation is 1, and the third
/// follows. Returns an error if neither `train` nor `micro` is given, or if a size or `world_size` is 0. Also returns an
/// error if the three given sizes contradict each other, or if the division for a missing size has a remainder. These two
/// errors contain all sizes that were given and `world_size`, as numbers. The products are small enough for a usize.
pub fn settle_batch(wanted: BatchWanted, world_size: usize) -> Result<BatchSizes> {
    todo!("9.6: what is given, what follows, and whether it is possible")
}

/// Takes the gradients of one micro-batch. They are those of all parameters on this rank, of loss × scale.
///
/// Divides them by `state.accumulation` and adds them to `state.gradients`, which is then the mean over the
/// micro-batches of a step once all have come. `state.micro_batches` counts them. Before the first of a step it is 0,
/// and `state.gradients` is an empty list. Sends nothing. Returns an error if the step has all its micro-batches
/// already, because `engine_step` must be called first. Also returns an error if this list has another length than
/// those before it in the step. After an error the state may be anything.
pub fn engine_backward(state: &mut EngineState, gradients: &[f32]) -> Result<()> {
    todo!("9.7: add to the mean, and count")
}

/// Ends a micro-batch, and after the last micro-batch of a step, takes a step of stage 2 on `params`, which has all
/// parameters of the model, equal on all ranks before and after it.
///
/// Before the last micro-batch it only returns `Outcome::Accumulating`, and sends nothing. Otherwise:
///
/// 1. Reduce `state.gradients` to this rank's chunk of the mean over the ranks, as in 9.3, and divide it by
///    `state.scaler.scale()`, before or after it is reduced. `state.gradients` is empty from now on, and
///    `state.micro_batches` is 0 again.
/// 2. A gradient that is infinite or NaN may be in the chunk of one rank only, and the norm needs all chunks. So the
///    ranks agree by one all-reduce of at most two numbers, such as the sum of the squares of the chunk.
/// 3. If a gradient is not finite on any rank, no rank calls `update`, nothing is gathered, and the result is
///    `Outcome::Skipped`. (If only the sum of the squares is too large for an f32, the step may be skipped, too.)
/// 4. Otherwise, if `state.clip` is above 0 and the norm of all gradients together is above `state.clip`, multiply the
///    chunk by `state.clip`/norm. (You may add 10⁻⁶ to the norm here, as PyTorch does.) Then call `update` with this
///    rank's chunk of the parameters and of the gradients, and gather the parameters, as in 9.2. The result is
///    `Outcome::Taken { norm }`, with the norm before clipping.
///
/// In both cases call `state.scaler.update(found_inf)?` once at the end: it knows how the scale changes. If a call
/// returns an error, return it; the state may then be anything.
pub fn engine_step(
    state: &mut EngineState,
    collective: &dyn Collective,
    params: &mut [f32],
    update: &mut Update,
) -> Result<Outcome> {
    todo!("9.7: reduce, agree, then step or skip")
}

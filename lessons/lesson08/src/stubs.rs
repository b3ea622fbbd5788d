//! Lesson 08: data parallelism. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson08` checks the lesson, `cargo test -p lesson08 8.2` one exercise. `cargo course hint 8.2` shows a
//! hint.

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor};
use canopy::parallel::{Bucket, BucketSizes, Collective, Cost, Kind, Link, Place, chunk};

/// The records that rank `rank` of `world_size` visits in an epoch: every `world_size`-th record of `order`, starting
/// at index `rank`.
///
/// All ranks get equally many records. If `world_size` does not divide the length of `order`, `drop_tail` drops the
/// rest at its end; without it, `order` is extended by its own beginning, repeated as often as necessary. An empty
/// order gives an empty share.
pub fn share_of_epoch(order: &[usize], rank: usize, world_size: usize, drop_tail: bool) -> Vec<usize> {
    todo!("8.1: how many records each rank gets, and which")
}

/// The first half of a ring all-reduce over p ranks: afterwards `chunk(data.len(), r, p)` of rank r's `data` is the
/// sum of that chunk over all ranks. The rest may be anything.
///
/// Rank r sends only to rank r + 1 and receives only from rank r − 1, modulo p: one chunk in each of p − 1 steps,
/// first chunk r − 1, then always the one received last, with its own numbers added. Chunks may differ by one number
/// in length, or be empty. Return each error of the link.
pub fn ring_reduce_scatter(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: send a chunk, add the one that arrives")
}

/// The second half: each rank starts with its own chunk of `data` complete, and ends with all of `data` complete.
///
/// It first sends its own chunk, then always the one received last. Numbers are copied, not added. All else is as in
/// `ring_reduce_scatter`.
pub fn ring_all_gather(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: pass on the chunk that arrived last")
}

/// The buckets in which the gradients of a model are sent. `params` are the `(bytes, kind)` of its parameters.
///
/// Go over them from the last to the first. Each, even one of 0 bytes, goes into the open bucket of its `kind`, or
/// opens one. The parameter with which its bytes reach the limit closes it: `sizes.first` for the first bucket of each
/// kind, `sizes.others` for the others.
///
/// Buckets are in the order in which they were closed. Those still open follow, in the order in which they last
/// received a parameter. A bucket lists indices in the order of adding, and the sum of their bytes.
pub fn buckets(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    todo!("8.3: fill from the last parameter, close at the limit")
}

/// Replaces each gradient by its mean over all ranks. Shapes and dtypes do not change.
///
/// Send all, as f32, in one call of `collective.all_reduce`; a single rank may do without it. If it returns an error,
/// return it. A gradient may have any number of axes and any floating-point dtype, and need not be contiguous. Divide
/// in f32, before or after the call.
pub fn average_gradients(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    todo!("8.4: one long list, one all-reduce, and back to the shapes")
}

/// The place of this process among the ranks, from the environment variables of its launcher. `variable(name)` is the
/// text of one, if it is set.
///
/// | `launcher` | `rank` | `world_size` | `local_rank` |
/// |---|---|---|---|
/// | `torchrun` | `RANK` | `WORLD_SIZE` | `LOCAL_RANK` |
/// | `Open MPI` | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK` |
/// | `Slurm` | `SLURM_PROCID` | `SLURM_NTASKS` | `SLURM_LOCALID` |
///
/// The first launcher of the table whose rank is set counts. If none is set, the result is rank 0 of 1, local rank 0,
/// launcher `alone`. Returns an error that names the variable if one is missing or is not a whole number
/// (`parse::<usize>()`), and an error if the rank is not below the world size. White space around a number is
/// allowed.
pub fn place_from(variable: &dyn Fn(&str) -> Option<String>) -> Result<Place> {
    todo!("8.5: which launcher, its three numbers, and whether they are possible")
}

/// The device of a process at `place` that sees `gpus` GPUs: `cpu` if it sees none; `cuda:0` if it sees one, because
/// then the scheduler gave it that one; otherwise `cuda:N`, where N is its local rank.
///
/// Returns an error if it sees several GPUs, but its local rank is not below their number.
pub fn device_for(place: &Place, gpus: usize) -> Result<String> {
    todo!("8.5: the name of the device")
}

/// Efficiency in weak scaling: every rank has as much work as the single rank had. `seconds_of_one` is the time of a
/// step on one rank, `seconds` that on all ranks. 1 is perfect; 0.5 means that half of the machine's time is lost. It
/// may exceed 1.
pub fn weak_efficiency(seconds_of_one: f64, seconds: f64) -> f64 {
    todo!("8.6: the work grows with the ranks")
}

/// Efficiency in strong scaling: `ranks` ranks, at least 1, share the work that one rank had. 1 is perfect; it may
/// exceed 1, because a smaller share of the work may fit into a faster cache.
pub fn strong_efficiency(seconds_of_one: f64, seconds: f64, ranks: usize) -> f64 {
    todo!("8.6: the work stays the same")
}

/// The seconds of a ring all-reduce of `bytes` over `p` ranks: the time of the messages that one rank sends, one
/// after the other. A message of b bytes takes `cost.alpha` + b·`cost.beta` seconds.
///
/// Use chunks of `bytes`/p, not rounded. One rank alone sends nothing. `p` is at least 1 and below 2³².
pub fn ring_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many messages, and how long each is")
}

/// The seconds of a tree all-reduce. Each step up halves the number of ranks that have a part of the sum, until rank
/// 0 has all of it; as many steps down send it back.
///
/// Each step is one message of all `bytes`. 5 ranks need as many steps as 8. One rank alone sends nothing.
pub fn tree_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many steps")
}

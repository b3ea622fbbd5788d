//! Lesson 08: data parallelism. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson08` checks the lesson, `cargo test -p lesson08 8.2` one exercise. `cargo course hint 8.2` shows
//! a hint.

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor};
use canopy::parallel::{Bucket, BucketSizes, Collective, Cost, Kind, Link, Place, chunk};

/// The records of rank `rank` in an epoch: every `world_size`-th record of `order`, from index `rank` on.
///
/// All ranks get equally many records. To this end, `drop_tail` drops the rest at the end of `order`; without it,
/// `order` is extended by its own beginning, repeated as often as necessary. An empty order has empty shares.
pub fn share_of_epoch(order: &[usize], rank: usize, world_size: usize, drop_tail: bool) -> Vec<usize> {
    todo!("8.1: how many records each rank gets, and which")
}

/// The first half of a ring all-reduce over p ranks: afterwards `chunk(data.len(), r, p)` of rank r's `data` is the sum
/// of that chunk over all ranks.
///
/// In each of p − 1 steps, rank r sends one chunk to rank r + 1 and adds one from rank r − 1 (modulo p) to its own. It
/// sends chunk r − 1 first, then always the last sum. Chunks may be uneven or empty. Returns each error of the link.
pub fn ring_reduce_scatter(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: send a chunk, add the one that arrives")
}

/// The second half: each rank starts with its own chunk complete, and ends with all of `data` complete. As in
/// `ring_reduce_scatter`, but rank r sends chunk r first, then always the chunk received last, and copies instead of
/// adding.
pub fn ring_all_gather(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: pass on the chunk that arrived last")
}

/// Groups the parameters of a model, each given as `(bytes, kind)`, into buckets, from the last to the first.
///
/// - Each parameter, even one of 0 bytes, goes into the open bucket of its `kind`, or opens one.
/// - A bucket is closed by the parameter with which its bytes reach the limit: `sizes.first` for the first bucket of
///   each kind, then `sizes.others`.
/// - The result has the closed buckets in the order of closing, then the open ones in the order of their latest
///   additions.
pub fn buckets(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    todo!("8.3: fill from the last parameter, close at the limit")
}

/// Replaces each gradient by its mean over all ranks; shapes and dtypes do not change. Gradients have any number of
/// axes and any floating-point dtype, contiguous or not.
///
/// Send all of them as f32 in one call of `collective.all_reduce`, and return its error. Divide in f32.
pub fn average_gradients(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    todo!("8.4: one long list, one all-reduce, and back to the shapes")
}

/// The place of this process, from the environment variables of its launcher. `variable(name)` is the text of one, if
/// it is set.
///
/// | `launcher` | `rank` | `world_size` | `local_rank` |
/// |---|---|---|---|
/// | `torchrun` | `RANK` | `WORLD_SIZE` | `LOCAL_RANK` |
/// | `Open MPI` | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK` |
/// | `Slurm` | `SLURM_PROCID` | `SLURM_NTASKS` | `SLURM_LOCALID` |
///
/// The first launcher of the table whose rank is set, even if empty, counts; if none is, the place is rank 0 of 1,
/// local rank 0, launcher `alone`. White space around a number is allowed. Returns an error that names the variable if
/// one is missing or is not a `usize`, and an error if the rank is not below the world size.
pub fn place_from(variable: &dyn Fn(&str) -> Option<String>) -> Result<Place> {
    todo!("8.5: which launcher, its three numbers, and whether they are possible")
}

/// The device of a process that sees `gpus` GPUs: `cpu` if it sees none, `cuda:0` if it sees one, otherwise `cuda:N`,
/// where N is its local rank. Returns an error if it sees several GPUs and N is not below their number.
pub fn device_for(place: &Place, gpus: usize) -> Result<String> {
    todo!("8.5: the name of the device")
}

/// Efficiency in weak scaling: each rank has as much work as the single rank had. A step takes `seconds_of_one` on one
/// rank and `seconds` on all. 1 is perfect, 0.5 means that half of the machine's time is lost, and it may exceed 1.
pub fn weak_efficiency(seconds_of_one: f64, seconds: f64) -> f64 {
    todo!("8.6: the work grows with the ranks")
}

/// Efficiency in strong scaling: `ranks` ranks share the work that the single rank had. As in `weak_efficiency`, 1 is
/// perfect, and it may exceed 1.
pub fn strong_efficiency(seconds_of_one: f64, seconds: f64, ranks: usize) -> f64 {
    todo!("8.6: the work stays the same")
}

/// The seconds of a ring all-reduce of `bytes` over `p` ranks: the time of the messages that one rank sends, one after
/// the other, in chunks of `bytes`/p, not rounded. A message of b bytes takes `cost.alpha` + b·`cost.beta` seconds. One
/// rank alone sends nothing.
pub fn ring_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many messages, and how long each is")
}

/// The seconds of a tree all-reduce. Each step up halves the number of ranks with a part of the sum, until rank 0 has
/// it all; as many steps down send it back. A step is one message of all `bytes`, as in `ring_seconds`. 5 ranks need as
/// many steps as 8.
pub fn tree_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many steps")
}

//! Lesson 08: data parallelism. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson08` checks the lesson, `cargo test -p lesson08 8.2` one exercise. `cargo course hint 8.2` shows
//! a hint.

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor};
use canopy::parallel::{Bucket, BucketSizes, Collective, Cost, Kind, Link, Place, chunk};

/// Every `world_size`-th record of `order`, from index `rank` on.
///
/// All ranks get equally many: `drop_tail` drops the tail; otherwise, `order` is extended by its own beginning, as
/// often as necessary.
pub fn share_of_epoch(order: &[usize], rank: usize, world_size: usize, drop_tail: bool) -> Vec<usize> {
    todo!("8.1: how many records each rank gets, and which")
}

/// The first half of a ring all-reduce over p ranks: afterwards `chunk(data.len(), r, p)` of rank r's `data` is its
/// sum over all ranks.
///
/// In each of `p − 1` steps, rank r sends a chunk to rank `r + 1`, first chunk `r − 1`, then always the last sum, and
/// adds the one from rank `r − 1` to its own, modulo p. Returns an error at once.
pub fn ring_reduce_scatter(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: send a chunk, add the one that arrives")
}

/// The second half: afterwards `data` is complete. It works as the first, but rank r sends chunk r first, then always
/// the chunk received last, and copies instead of adding.
pub fn ring_all_gather(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: pass on the chunk that arrived last")
}

/// Groups parameters, given as `(bytes, kind)`, into buckets, from the last to the first.
///
/// - Each goes into the open bucket of its `kind`, or opens one.
/// - The parameter that reaches a bucket's limit closes it: `sizes.first` for the first of its kind, then
///   `sizes.others`.
/// - Returns the buckets in the order of closing, then the open ones by their latest additions.
pub fn buckets(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    todo!("8.3: fill from the last parameter, close at the limit")
}

/// Replaces each gradient, contiguous or not, by its mean over all ranks, in its shape and dtype. Send all in one call
/// of `collective.all_reduce`; return its error. Divide in f32.
pub fn average_gradients(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    todo!("8.4: one long list, one all-reduce, and back to the shapes")
}

/// The place of this process, from the first launcher whose rank is set; `variable` reads an environment variable.
///
/// | `launcher` | `rank` | `world_size` | `local_rank` |
/// |---|---|---|---|
/// | `torchrun` | `RANK` | `WORLD_SIZE` | `LOCAL_RANK` |
/// | `Open MPI` | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK` |
/// | `Slurm` | `SLURM_PROCID` | `SLURM_NTASKS` | `SLURM_LOCALID` |
///
/// If no rank is set: rank 0 of 1, launcher `alone`. Returns an error that names the variable if one of the launcher's
/// three is missing or not a `usize`, and an error if the rank is not below the world size.
pub fn place_from(variable: &dyn Fn(&str) -> Option<String>) -> Result<Place> {
    todo!("8.5: which launcher, its three numbers, and whether they are possible")
}

/// The device of a process that sees `gpus` GPUs: `cpu` for none, `cuda:0` for one, otherwise `cuda:N` with local rank
/// N, or an error if N is not below `gpus`.
pub fn device_for(place: &Place, gpus: usize) -> Result<String> {
    todo!("8.5: the name of the device")
}

/// The efficiency in weak scaling of a step that takes `seconds_of_one` on one rank and `seconds` on all. 1 is
/// perfect, and it may exceed 1.
pub fn weak_efficiency(seconds_of_one: f64, seconds: f64) -> f64 {
    todo!("8.6: the work grows with the ranks")
}

/// The efficiency in strong scaling: `ranks` ranks share the work of the single rank. It may exceed 1.
pub fn strong_efficiency(seconds_of_one: f64, seconds: f64, ranks: usize) -> f64 {
    todo!("8.6: the work stays the same")
}

/// The seconds of a ring all-reduce over `p` ranks: a rank sends its messages one after the other, each with `bytes/p`
/// bytes. A message of b bytes takes `cost.alpha + b·cost.beta` seconds.
pub fn ring_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many messages, and how long each is")
}

/// The seconds of a tree all-reduce: `⌈log₂ p⌉` steps up and as many down. A step is one message of all `bytes`, as
/// in `ring_seconds`.
pub fn tree_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many steps")
}

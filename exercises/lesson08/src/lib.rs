//! Lesson 08: data parallelism. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson08` checks the lesson, `cargo test -p lesson08 8.2` one exercise. `cargo course hint 8.2` shows a
//! hint.

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor};
use canopy::parallel::{Bucket, BucketSizes, Collective, Cost, Kind, Link, Place, chunk};

/// The records that rank `rank` of `world_size` visits in an epoch: every `world_size`-th record of `order`,
/// starting at index `rank`. `order` is the same on every rank.
///
/// All ranks get equally many records. If `world_size` does not divide the length of `order`, `drop_tail` drops the
/// rest at its end; without it, `order` is extended by its own beginning, repeated as often as necessary, until
/// `world_size` divides its length. An empty order gives an empty share. There may be more ranks than records, and a
/// record may be in `order` twice. `world_size` is at least 1, and `rank` is below it.
pub fn share_of_epoch(order: &[usize], rank: usize, world_size: usize, drop_tail: bool) -> Vec<usize> {
    todo!("8.1: how many records each rank gets, and which")
}

/// The first half of a ring all-reduce: afterwards this rank's own chunk of `data`, `chunk(data.len(), rank, p)`,
/// contains the sum of that chunk over all ranks. The rest of `data` may contain anything.
///
/// Rank r sends only to rank r + 1 and receives only from rank r − 1 (rank 0 follows the last one). It sends one
/// chunk in each of p − 1 steps: first chunk r − 1, then always the chunk that it received last, with its own numbers
/// added. If p is 1 there is nothing to do. All ranks run this function at the same time.
///
/// `link.send(to, data)` does not wait; `link.receive(from, into)` waits for a message and copies it into `into`,
/// which must be as long. If one of them returns an error, return it, with more context if you like.
/// `chunk(length, rank, p)` returns a chunk as a range. Chunks may differ by one number in length, and some of them, or
/// all, may be empty: an empty chunk is sent too.
pub fn ring_reduce_scatter(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: send a chunk, add the one that arrives")
}

/// The second half of a ring all-reduce: each rank starts with its own chunk of `data` complete, and ends with all
/// of `data` complete.
///
/// It first sends its own chunk, then always the chunk that it received last. Neighbours, number of steps, chunks
/// and errors are as in `ring_reduce_scatter`; numbers are copied, not added.
pub fn ring_all_gather(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: pass on the chunk that arrived last")
}

/// The gradient buckets of a model, in the order in which they are sent. The parameters are given as `(bytes,
/// kind)` in the order of the model.
///
/// Go over the parameters from the last to the first, because the backward pass computes their gradients in this
/// order. Each, even one of 0 bytes, goes into the open bucket of its `kind` (the name of its dtype and device); if
/// there is none, it opens one. A bucket is closed by the parameter with which its bytes reach the limit:
/// `sizes.first` for the first bucket of each kind, `sizes.others` for the later ones. A limit may be 0. Closed
/// buckets are in the order in which they were closed. Those still open at the end come after them, in the
/// order in which they last received a parameter. No bucket is empty.
///
/// A bucket lists the indices of its parameters in the order in which they were added, and the sum of their bytes.
pub fn buckets(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    todo!("8.3: fill from the last parameter, close at the limit")
}

/// Replaces each gradient by its mean over all ranks. Shapes and dtypes do not change.
///
/// There may be many gradients, and each message has a latency: send all of them in one call of
/// `collective.all_reduce(data)`, which replaces `data: &mut [f32]` by its sum over the ranks, bit-identical on
/// each. There is at least one gradient; a single rank may do without the call. If it returns an error, return it;
/// the gradients may then contain anything.
///
/// A gradient may have any number of axes and another floating-point dtype than the next, and need not be
/// contiguous. All are sent as f32, f64 too. Divide in f32, or multiply by 1/p, before or after the call: a shorter
/// format would round each part, and the sum may be too large for f16.
pub fn average_gradients(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    todo!("8.4: one long list, one all-reduce, and back to the shapes")
}

/// The place of this process among the ranks, from the environment variables of its launcher. `variable(name)` is
/// the text of a variable, or None if it is not set.
///
/// | `launcher` | `rank` | `world_size` | `local_rank` |
/// |---|---|---|---|
/// | `torchrun` | `RANK` | `WORLD_SIZE` | `LOCAL_RANK` |
/// | `Open MPI` | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK` |
/// | `Slurm` | `SLURM_PROCID` | `SLURM_NTASKS` | `SLURM_LOCALID` |
///
/// The first launcher of the table whose rank is set counts, whatever its text: under `mpirun` in a Slurm job both
/// are set, and mpirun's are right. If none is set, this process is a single rank: rank 0 of 1, local rank 0,
/// launcher `alone`. Returns an error that names the variable if a number of that launcher is missing or is not a
/// whole number, as `parse::<usize>()` decides; a plus sign may be an error, too. Returns an error if the rank is not
/// below the world size. White space around a number is allowed.
pub fn place_from(variable: &dyn Fn(&str) -> Option<String>) -> Result<Place> {
    todo!("8.5: which launcher, its three numbers, and whether they are possible")
}

/// The device of a process at `place` that sees `gpus` GPUs: `cpu` if it sees none; `cuda:0` if it sees one,
/// because then the scheduler gave it that one; otherwise `cuda:N`, where N is its local rank.
///
/// Returns an error if it sees several GPUs, but its local rank is not below their number.
pub fn device_for(place: &Place, gpus: usize) -> Result<String> {
    todo!("8.5: the name of the device")
}

/// Efficiency in weak scaling: every rank has as much work as the single rank had. `seconds_of_one` is the time of
/// a step on one rank, `seconds` that on all ranks. 1 is perfect; 0.5 means that half of the machine's time is
/// lost. It may exceed 1. Times are positive.
pub fn weak_efficiency(seconds_of_one: f64, seconds: f64) -> f64 {
    todo!("8.6: the work grows with the ranks")
}

/// Efficiency in strong scaling: `ranks` ranks share the work that one rank had. 1 is perfect; it may exceed 1,
/// because a smaller share of the work may fit into a faster cache. `ranks` is at least 1.
pub fn strong_efficiency(seconds_of_one: f64, seconds: f64, ranks: usize) -> f64 {
    todo!("8.6: the work stays the same")
}

/// The seconds of a ring all-reduce of `bytes` over `p` ranks, if a message of b bytes takes `cost.alpha` +
/// b·`cost.beta` seconds. All ranks send at the same time, so the time is that of the messages that one rank sends,
/// one after the other.
///
/// `p` is at least 1 and below 2³². One rank alone sends nothing. Use chunks of `bytes`/p, not rounded.
pub fn ring_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many messages, and how long each is")
}

/// The seconds of a tree all-reduce. Each step up halves the number of ranks that have a part of the sum, until
/// rank 0 has all of it; as many steps down send it back. `p`, also below 2³², need not be a power of two: 5 ranks
/// need as many steps as 8. Each step is one message of all `bytes`. One rank alone sends nothing.
pub fn tree_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many steps")
}

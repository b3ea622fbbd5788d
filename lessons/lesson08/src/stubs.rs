//! Lesson 08: data parallelism. Put your code where a `todo!` stands; the comment above says what is asked.
//!
//! `cargo test -p lesson08` checks all, `cargo test -p lesson08 8.2` one exercise. `cargo course hint 8.2` helps.

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor};
use canopy::parallel::{Bucket, BucketSizes, Collective, Cost, Kind, Link, Place, chunk};

/// The records that rank `rank` of `world_size` visits in an epoch whose records come in `order`, the same on every rank:
/// every `world_size`-th of `order`, from number `rank` on.
///
/// All ranks get equally many. Where `order` does not divide, `drop_tail` leaves out what is over at its end; else `order`
/// is made longer by its own beginning, repeated as often as it takes, until it divides. An empty order gives nothing.
/// `world_size` is at least 1, `rank` less.
pub fn share_of_epoch(order: &[usize], rank: usize, world_size: usize, drop_tail: bool) -> Vec<usize> {
    todo!("8.1: how many each gets, and which")
}

/// The first half of a ring all-reduce: afterwards this rank's own chunk of `data`, `chunk(data.len(), rank, p)`, holds
/// the sum of that chunk over all ranks; what stands in the rest of `data` does not matter.
///
/// Rank r sends to rank r + 1 alone, receives from rank r − 1 alone (after the last comes rank 0), and sends one chunk in
/// each of p − 1 steps; where p is 1 there is nothing to do. Every rank runs this function at once. `link.send(to, data)`
/// does not wait; `link.receive(from, into)` waits for a message, which must be as long as `into`. Chunks are given by
/// `chunk(length, rank, p)`, a range; they may differ by one number in length, and may be empty: an empty one is sent too.
pub fn ring_reduce_scatter(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: send one chunk on, add the one that comes")
}

/// The second half: each rank comes with its own chunk of `data` complete; afterwards all of `data` is, on every rank.
///
/// Neighbours, steps and chunks as in `ring_reduce_scatter`; numbers are copied, not added.
pub fn ring_all_gather(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    todo!("8.2: pass on what came last")
}

/// Buckets for a model's parameters, given as `(bytes, kind)` in the model's order, in the order in which they are sent.
///
/// Walk over the parameters from the last to the first, as the backward walk makes their gradients. Each goes into the
/// open bucket of its `kind` (number type); a kind that has none open opens one. A bucket is closed when its bytes have
/// reached its limit, by the parameter that reached it: `sizes.first` for the first bucket of each kind, `sizes.others`
/// for all after it. Closed buckets stand in the order in which they were closed; those still open at the end come after
/// them, the one whose last added parameter has the greatest index first. No bucket is empty.
pub fn buckets(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    todo!("8.3: fill from the end, close when full")
}

/// Replaces each gradient by its mean over all ranks; shapes and number types stay as they are.
///
/// There may be many gradients, and each message costs time to begin: send all of them in one call of
/// `collective.all_reduce(data)`, which replaces `data: &mut [f32]` by its sum over the ranks, the same bits on each.
/// A gradient need not be contiguous.
pub fn average_gradients(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    todo!("8.4: one long list, one sum, and back into shapes")
}

/// Who this process is, from the environment that its launcher left: `variable(name)` is a variable's text, or None.
///
/// | `launcher` | `rank` | `world_size` | `local_rank` |
/// |---|---|---|---|
/// | `torchrun` | `RANK` | `WORLD_SIZE` | `LOCAL_RANK` |
/// | `Open MPI` | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK` |
/// | `Slurm` | `SLURM_PROCID` | `SLURM_NTASKS` | `SLURM_LOCALID` |
///
/// The first whose rank is set counts: under `mpirun` in a Slurm job both are, and mpirun's are meant. If none is, this
/// process is alone: rank 0 of 1, local rank 0, launcher `alone`. It is an error where a number of the launcher that
/// counts is missing or is no whole number (name the variable), and where the rank is not below the world size. White
/// space around a number is no error.
pub fn place_from(variable: &dyn Fn(&str) -> Option<String>) -> Result<Place> {
    todo!("8.5: which launcher, its three numbers, and whether they can be true")
}

/// The device of a process at `place` that sees `gpus` GPUs: `cpu` where it sees none; `cuda:0` where it sees one, for then
/// the scheduler gave it that one; else `cuda:N`, N being its local rank.
///
/// It is an error where it sees several, but fewer than its local rank would need.
pub fn device_for(place: &Place, gpus: usize) -> Result<String> {
    todo!("8.5: the device's name")
}

/// Efficiency in weak scaling: every rank has as much work as one had alone. `seconds_of_one` is a step's time on one
/// rank, `seconds` that on all of them. 1 is perfect, 0.5 means that half the machine's time is lost.
pub fn weak_efficiency(seconds_of_one: f64, seconds: f64) -> f64 {
    todo!("8.6: the work grows with the ranks")
}

/// Efficiency in strong scaling: the work that one rank had is shared by `ranks`.
pub fn strong_efficiency(seconds_of_one: f64, seconds: f64, ranks: usize) -> f64 {
    todo!("8.6: the work stays as it is")
}

/// Seconds of a ring all-reduce of `bytes` over `p` ranks, each message of b bytes taking `cost.alpha` + b·`cost.beta`
/// seconds; all ranks send at once, so the time is that of the messages that one rank sends, one after another.
///
/// One rank sends nothing. Take chunks as `bytes`/p, though p may not divide.
pub fn ring_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many messages, how long each")
}

/// Seconds of a tree all-reduce: up to rank 0, halving the ranks that still hold a part of the sum in each step, and down
/// again in as many. p need be no power of two: 5 ranks need as many steps as 8. Each step is one message of all `bytes`.
pub fn tree_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    todo!("8.7: how many steps")
}

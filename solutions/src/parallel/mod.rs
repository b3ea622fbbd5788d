//! Data parallelism: messages between ranks, the collectives built on them, their cost, and each rank's share of the data.
//!
//! A rank is one worker with its own copy of the model. [`Link`] sends messages to another rank, and [`Collective`] adds what
//! training needs of a group of ranks. [`Rank`] implements it with our own algorithms ([`ring`]) for ranks that are threads of
//! this process ([`threads`]). MPI (feature `mpi`) brings its own algorithms, for ranks that are processes; NCCL (feature
//! `nccl`) sums their tensors on GPUs.

mod arguments;
mod average;
mod bucket;
mod cost;
mod host_thread;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod nccl;
mod place;
mod processes;
mod reducer;
pub mod ring;
mod sampler;
pub mod threads;
mod tree;
mod typed;

use std::ops::{AddAssign, Sub};

use anyhow::Result;
use candle_core::Tensor;
use serde::{Deserialize, Serialize};

pub use average::average_gradients;
pub use bucket::{Bucket, BucketSizes, Kind, buckets};
pub use cost::{Cost, ring_seconds, strong_efficiency, tree_seconds, weak_efficiency};
pub(crate) use host_thread::panic_message;
pub use place::{Place, device_for, place_from};
pub use processes::{Processes, connect};
pub(crate) use reducer::part_like;
pub use reducer::{Reduced, Reducer, mean_over_ranks};
pub use ring::{chunk, ring_all_gather, ring_all_reduce, ring_reduce_scatter};
pub use sampler::{Share, share_of_batch, share_of_epoch};
pub use threads::{AllReduce, Lost, Rank};
pub use tree::{tree_all_reduce, tree_broadcast};
pub use typed::{gather, gather_json};

// ANCHOR: Link
/// Messages from one rank to another, in order: the building block of the algorithms.
pub trait Link {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn world_size(&self) -> usize;

    /// Sends `data` to rank `to`; does not wait for it to be received.
    ///
    /// # Errors
    /// Returns an error if the other rank has ended; the error says what it was doing.
    fn send(&self, to: usize, data: &[f32]) -> Result<()>;

    /// Waits for the next message of rank `from`, of exactly the length of `into`.
    ///
    /// # Errors
    /// Returns an error if the other rank has ended, sends nothing within the deadline, or sent another length; the error
    /// says what the rank was doing.
    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()>;
}
// ANCHOR_END: Link

// ANCHOR: Collective
/// The collective operations that training needs from a group of ranks, besides their messages. Every rank makes
/// the same calls in the same order.
pub trait Collective: Link + Send {
    /// Replaces `data` by its sum over all ranks, bit-identical on each.
    ///
    /// # Errors
    /// Returns an error if another rank ended or missed its deadline.
    fn all_reduce(&self, data: &mut [f32]) -> Result<()>;
    // ANCHOR_END: Collective

    /// Sums `data` over all ranks and writes this rank's [`chunk`] of the sum to `mine`.
    ///
    /// # Errors
    /// As [`Self::all_reduce`], and if `mine` has another length.
    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()>;

    /// Gathers the [`chunk`]s of all ranks into `whole`.
    ///
    /// # Errors
    /// As [`Self::all_reduce`], and if `mine` is not as long as this rank's chunk of `whole`.
    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()>;

    /// Replaces `data` by that of rank `root`.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()>;

    /// Waits until every rank has called it.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    fn barrier(&self) -> Result<()>;

    /// Returns the messages and bytes that this rank has sent so far.
    fn traffic(&self) -> Traffic;

    /// Reports what this rank is about to do. This is a sign of life, and appears in the error of ranks that wait for it in
    /// vain.
    fn doing(&self, _what: &str) {}

    /// Returns the sums of tensors that stay on their device, if the engine has them.
    fn on_tensors(&self) -> Option<&dyn OnTensors> {
        None
    }
}

/// Sums of tensors that stay on their device, which start without waiting.
pub trait OnTensors: Send {
    /// Starts the sum of `tensor` over all ranks, and does not wait for it. Every rank starts the same sums in the same order.
    /// The result is a vector.
    ///
    /// # Errors
    /// Returns an error unless the tensor is contiguous, on the engine's device and of f32 or f64, or if the engine has failed.
    fn start_sum(&self, tensor: &Tensor) -> Result<Box<dyn Started>>;
}

/// A sum that has started.
pub trait Started: Send {
    /// Waits for its end, and returns it.
    fn finish(self: Box<Self>) -> Result<Tensor>;

    /// Returns the sum and does not wait for its end: later work on the device does. If it fails, the engine's next call returns
    /// the error.
    fn result(self: Box<Self>) -> Result<Tensor>;
}

/// Messages and bytes sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Number of messages.
    pub messages: u64,
    /// Size of their data, in bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Counts one more message, of `numbers` numbers.
    fn and_message(self, numbers: usize) -> Self {
        Self {
            messages: self.messages + 1,
            bytes: self.bytes + (numbers * size_of::<f32>()) as u64,
        }
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            messages: self.messages - other.messages,
            bytes: self.bytes - other.bytes,
        }
    }
}

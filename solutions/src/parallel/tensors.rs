//! Collectives on tensors that stay on their device, which start without waiting.

use std::fmt;

use anyhow::Result;
use candle_core::Tensor;

/// A collective on contiguous tensors of f32, f64, bf16 or f16. Every rank starts the same ones in the same order.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// The sum over all ranks.
    AllReduce(&'a Tensor),
    /// This rank's part of the sum; all parts have the same length.
    ReduceScatter(&'a Tensor),
    /// The tensors of all ranks, which have the same length, end to end.
    AllGather(&'a Tensor),
    /// The tensor of one rank.
    Broadcast(usize, &'a Tensor),
    /// Messages to other ranks, and at most one of f32 numbers from another rank: who it is, and how many. They progress
    /// together, in any order.
    Exchange {
        /// Receivers and what they get.
        sends: &'a [(usize, Tensor)],
        /// The sender, and how many numbers it sends.
        receive: Option<(usize, usize)>,
    },
}

impl Operation<'_> {
    /// Returns how many numbers a rank of `world_size` ranks gets.
    pub fn output(&self, world_size: usize) -> usize {
        match self {
            Self::AllReduce(t) | Self::Broadcast(_, t) => t.elem_count(),
            Self::ReduceScatter(t) => t.elem_count() / world_size,
            Self::AllGather(t) => t.elem_count() * world_size,
            Self::Exchange { receive, .. } => receive.map_or(0, |(_, numbers)| numbers),
        }
    }
}

impl fmt::Display for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of =
            |f: &mut fmt::Formatter<'_>, name, t: &Tensor| write!(f, "{name} of {} numbers", t.elem_count());
        match self {
            Self::AllReduce(t) => of(f, "an all-reduce", t),
            Self::ReduceScatter(t) => of(f, "a reduce-scatter", t),
            Self::AllGather(t) => of(f, "an all-gather", t),
            Self::Broadcast(root, t) => {
                of(f, "a broadcast", t)?;
                write!(f, " from rank {root}")
            }
            Self::Exchange { sends, receive } => {
                if let Some((from, _)) = receive {
                    return write!(f, "a message from rank {from}");
                }
                let to: Vec<_> = sends.iter().map(|(to, _)| to.to_string()).collect();
                write!(f, "a message to rank {}", to.join(" and "))
            }
        }
    }
}

/// A collective that has started.
pub trait Started: Send {
    /// Whether it has ended.
    ///
    /// # Errors
    /// Returns an error if it failed.
    fn is_done(&self) -> Result<bool>;

    /// Waits for its end, and returns its result.
    ///
    /// # Errors
    /// Returns an error if another rank ended or missed its deadline.
    fn finish(self: Box<Self>) -> Result<Tensor>;

    /// Returns its result and does not wait for its end: later work on the device does. If it fails, the engine's next call returns
    /// the error.
    ///
    /// # Errors
    /// Returns an error if the engine has failed.
    fn result(self: Box<Self>) -> Result<Tensor>;
}

/// Ranks that can combine tensors without a copy on the host.
pub trait OnTensors {
    /// Starts an operation and does not wait for it.
    ///
    /// # Errors
    /// Returns an error if the tensors do not fit the operation, or if the engine has failed.
    fn start(&self, operation: Operation) -> Result<Box<dyn Started>>;
}

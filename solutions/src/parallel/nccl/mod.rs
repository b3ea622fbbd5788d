//! NCCL between ranks that are processes with a GPU each: sums of tensors that stay on the GPUs, on streams of their own.
//!
//! The ranks are connected by MPI, which carries NCCL's ids and everything except these sums. NCCL says nothing about a rank
//! that never comes, so a thread watches the sums in flight, and ends the job at a deadline (`watch.rs`).
//!
//! Not run on a GPU yet.

#[cfg(any(feature = "nccl", test))]
mod cards;
#[cfg(feature = "nccl")]
mod communicator;
#[cfg(feature = "nccl")]
mod connect;
pub mod library;
#[cfg(feature = "nccl")]
mod watch;

#[cfg(feature = "nccl")]
pub(super) use connect::{all_reduce_seconds, connect};
pub use library::Library;
#[cfg(feature = "nccl")]
pub(super) use watch::Sums;

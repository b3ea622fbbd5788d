//! NCCL between ranks that are processes with a GPU each: sums of tensors that stay on the GPUs, on a stream of their own.
//!
//! The ranks are connected by MPI, which carries NCCL's id and everything except these sums. Not run on a GPU yet.

#[cfg(feature = "nccl")]
mod communicator;
pub mod library;

#[cfg(feature = "nccl")]
pub(super) use communicator::Communicator;
pub use library::Library;

//! Ranks as processes with a GPU each that communicate through NCCL: on the GPUs' memory, on a stream of its own, with a
//! deadline.
//!
//! NCCL says nothing about a rank that never comes, so a thread watches what is in flight, and aborts the communicators at a
//! deadline (`watch.rs`). The ranks learn NCCL's id over MPI where the program is built with it, otherwise through a folder
//! that all of them see (`rendezvous.rs`).
//!
//! Not run on a GPU yet: the tests run all of it over a replacement of NCCL, except the calls into NCCL and CUDA (`cuda.rs`).

#[cfg(any(feature = "nccl", test))]
mod calls;
#[cfg(any(feature = "nccl", test))]
mod cards;
#[cfg(feature = "nccl")]
mod cuda;
#[cfg(any(feature = "nccl", test))]
mod endpoint;
#[cfg(test)]
mod fake;
pub mod library;
#[cfg(any(feature = "nccl", test))]
mod rendezvous;
#[cfg(feature = "nccl")]
mod session;
#[cfg(test)]
mod tests;
#[cfg(any(feature = "nccl", test))]
mod watch;

pub use library::Library;
#[cfg(feature = "nccl")]
pub use session::{Launched, Nccl};
#[cfg(feature = "nccl")]
pub use watch::Life;

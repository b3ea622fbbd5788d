//! Runs of several ranks: their results against a run of one rank, and their errors if a rank fails or stalls.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod collectives;
mod ending;
mod equal;
#[cfg(all(feature = "mpi", unix))]
mod mpi;
#[cfg(feature = "nccl")]
mod nccl;
mod shapes;
mod sharded;

//! NCCL between ranks that are processes with a GPU each: sums of tensors that stay on the GPUs, on a stream of their own.
//!
//! The ranks are connected by MPI, which carries NCCL's id and everything except these sums. Not run on a GPU yet.

#[cfg(feature = "nccl")]
mod communicator;
pub mod library;

#[cfg(any(test, feature = "nccl"))]
use anyhow::{Result, bail};

#[cfg(feature = "nccl")]
pub(super) use communicator::Communicator;
pub use library::Library;

/// Returns whether the ranks have a GPU each; false if no rank has one.
///
/// # Errors
/// Returns an error if only some ranks have one.
#[cfg(any(test, feature = "nccl"))]
fn agree(on_gpu: &[bool]) -> Result<bool> {
    match on_gpu.iter().position(|on| !on) {
        None => Ok(true),
        Some(_) if !on_gpu.contains(&true) => Ok(false),
        Some(rank) => bail!(
            "rank {rank} has no GPU, but another rank has one: NCCL needs a GPU for each rank. Start as many ranks on each node as \
             it has GPUs, or train with --device cpu"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_needs_a_gpu() {
        assert!(agree(&[true; 3]).unwrap());
        assert!(!agree(&[false; 3]).unwrap());
        let error = agree(&[true, false, true]).unwrap_err().to_string();
        assert!(error.contains("rank 1 has no GPU"), "{error}");
    }
}

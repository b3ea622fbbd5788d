//! Ranks that are processes, started by a launcher such as mpirun or srun.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::Result;
#[cfg(not(feature = "mpi"))]
use anyhow::bail;
#[cfg(feature = "nccl")]
use candle_core::Device;

use super::{Collective, Place};

/// This process's connection to the other processes of its job.
pub trait Processes {
    /// Creates a group of links to all processes. They sum tensors on GPUs by NCCL after `use_nccl` has returned true. Every
    /// rank makes the same calls in the same order.
    ///
    /// # Errors
    /// Returns the engine's error if it cannot create another group.
    fn links(&self) -> Result<Box<dyn Collective>>;

    /// Sums tensors on GPUs by NCCL from now on, if the device of every rank is one. Returns whether it does. Every rank makes
    /// the same call.
    ///
    /// # Errors
    /// Returns an error if two ranks share a GPU or only some have one, or if NCCL does not load or fails.
    #[cfg(feature = "nccl")]
    fn use_nccl(&mut self, device: &Device) -> Result<bool>;

    /// Names the flag that asks this process to stop, as a launcher does when another rank was killed: then a rank that gives no
    /// sign of life is reported at once, because the launcher does not wait for the deadline.
    fn stop_by(&self, stop: Arc<AtomicBool>);

    /// Sets how long a rank may give no sign of life while others wait for it. After that, the job ends on all ranks. Until
    /// this call, a process that reads its data gives signs of life by itself.
    fn begin(&self, deadline: Duration);

    /// Replaces `data` by its sum over all ranks with one call of the engine's library, which waits without a deadline: to be
    /// compared with [`Collective::all_reduce`]. Every rank makes the same call.
    ///
    /// # Errors
    /// Returns an error if the library does.
    fn all_reduce_directly(&self, data: &mut [f32]) -> Result<()>;

    /// Disconnects when all ranks have called it. With an `exit_code`, the process exits with it if that takes more than two
    /// seconds: a launcher that is ending itself no longer answers.
    fn finish(self: Box<Self>, exit_code: Option<u8>);

    /// Prints `cause` once, on the lowest rank that calls it, and ends the job on all ranks with exit code 1.
    fn abort(&self, cause: &str) -> !;
}

/// Connects this process, which is at `place`, to the other processes of its job: over MPI if this program was built with it.
///
/// # Errors
/// Returns an error if MPI does not start, if MPI and the launcher differ about the ranks, or if this program was built
/// without MPI.
pub fn connect(place: &Place) -> Result<Box<dyn Processes>> {
    #[cfg(feature = "mpi")]
    return Ok(Box::new(super::mpi::Session::start(place)?));
    #[cfg(not(feature = "mpi"))]
    bail!(
        "{} started {} processes, and this is rank {}, but this program was built without `--features mpi`: build it with \
         the feature (README.md), or start one process with --ranks {}, whose ranks are threads",
        place.launcher,
        place.world_size,
        place.rank,
        place.world_size
    )
}

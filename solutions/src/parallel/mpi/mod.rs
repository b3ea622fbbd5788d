//! Ranks as processes that communicate through MPI: the library's own algorithms, non-blocking and with a deadline.
//!
//! Two threads of a rank call MPI: the one that trains, and the one that all-reduces buckets. Neither blocks inside MPI: each
//! starts a non-blocking operation, then polls it. So one lock around every call suffices (`MPI_THREAD_SERIALIZED`), and
//! MPI need not support `MPI_THREAD_MULTIPLE`, which not every build does.
//!
//! MPI says nothing about a rank that is frozen, so ranks send each other signs of life (`life.rs`). An operation that waits
//! for a silent rank beyond the deadline never returns: it prints the cause and calls `MPI_Abort`, which ends the job on all
//! ranks. Therefore the buffers of an operation live until MPI is done with them.

mod endpoint;
mod life;
mod shared;

use std::{
    cell::RefCell,
    mem::{ManuallyDrop, forget},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
#[cfg(feature = "nccl")]
use candle_core::Device;
use ferrompi::{Communicator, Mpi, ReduceOp, ThreadLevel};

use super::{Collective, Place, Processes};
#[cfg(feature = "nccl")]
use super::{OnTensors, nccl};
use endpoint::Endpoint;
pub(super) use shared::Shared;

/// This process's use of MPI.
pub struct Session {
    /// Finalised only by [`Processes::finish`]: `MPI_Finalize` waits for the other ranks, which an error must not do.
    mpi: ManuallyDrop<Mpi>,
    shared: Arc<Shared>,
    /// Communicators for the first links. Creating one blocks inside MPI until all ranks do it, without a deadline, so they
    /// are created while all ranks start.
    spare: RefCell<Vec<Communicator>>,
    /// Sums tensors on the GPUs. All ranks start the same sums in the same order, because one thread of each does.
    #[cfg(feature = "nccl")]
    nccl: Option<Arc<nccl::Communicator>>,
}

/// How long the end of MPI may take if the process is about to exit.
const FAREWELL: Duration = Duration::from_secs(2);

/// A run needs links for gradients, and for everything else; and NCCL needs some to connect the ranks.
const SPARE: usize = if cfg!(feature = "nccl") { 3 } else { 2 };

impl Session {
    /// Starts MPI in the process at `place`. The deadline is a minute until [`Processes::begin`].
    ///
    /// # Errors
    /// Returns an error if MPI does not start, or if it counts other ranks than the launcher's variables say.
    pub fn start(place: &Place) -> Result<Self> {
        choose_algorithm(place.world_size);
        let mpi = Mpi::init_thread(ThreadLevel::Serialized).context("MPI does not start")?;
        ensure!(
            mpi.thread_level() >= ThreadLevel::Serialized,
            "this MPI library was built without support for threads: canopy needs MPI_THREAD_SERIALIZED"
        );
        let world = mpi.world();
        let (rank, world_size) = (world.rank() as usize, world.size() as usize);
        ensure!(
            (rank, world_size) == (place.rank, place.world_size),
            "{} says that this is rank {} of {}, but MPI says rank {rank} of {world_size}: under Slurm, choose a kind of \
             MPI that `srun --mpi=list` lists, or use mpirun; otherwise unset the variables of other launchers",
            place.launcher,
            place.rank,
            place.world_size
        );
        let spare = (0..SPARE).map(|_| world.duplicate());
        let spare = spare
            .collect::<ferrompi::Result<_>>()
            .context("MPI cannot create a communicator")?;
        let shared = Arc::new(Shared::new(world).context("MPI cannot create a communicator")?);
        let starting = shared.clone();
        thread::spawn(move || starting.give_signs_until_it_begins());
        Ok(Self {
            mpi: ManuallyDrop::new(mpi),
            shared,
            spare: RefCell::new(spare),
            #[cfg(feature = "nccl")]
            nccl: None,
        })
    }
}

/// Makes Open MPI sum over two or three ranks by its ring, unless the user has chosen. By default it sends a whole list to rank 0
/// and back (`nbc_iallreduce.c` of Open MPI 4.1), which takes twice the time. Other libraries ignore the variable.
fn choose_algorithm(world_size: usize) {
    const VARIABLE: &str = "OMPI_MCA_coll_libnbc_iallreduce_algorithm";
    const RING: &str = "1";
    if world_size < 4 && std::env::var_os(VARIABLE).is_none() {
        // SAFETY: Rust's reads of the environment wait for this, and the libraries in C whose threads may read it, MPI and CUDA, have
        // not started.
        unsafe { std::env::set_var(VARIABLE, RING) };
    }
}

impl Processes for Session {
    fn links(&self) -> Result<Box<dyn Collective>> {
        let own = match self.spare.borrow_mut().pop() {
            Some(own) => own,
            None => {
                let world = self.mpi.world();
                let own = self.shared.call(|| world.duplicate());
                own.context("MPI cannot create a communicator")?
            }
        };
        #[cfg(feature = "nccl")]
        let tensors = self.nccl.clone().map(|nccl| Box::new(nccl) as Box<dyn OnTensors>);
        #[cfg(not(feature = "nccl"))]
        let tensors = None;
        Ok(Box::new(Endpoint::new(own, self.shared.clone(), tensors)))
    }

    #[cfg(feature = "nccl")]
    fn use_nccl(&mut self, device: &Device) -> Result<bool> {
        self.nccl = nccl::Communicator::connect(&*self.links()?, device, &self.shared)?.map(Arc::new);
        Ok(self.nccl.is_some())
    }

    fn stop_by(&self, stop: Arc<AtomicBool>) {
        self.shared.stop.get_or_init(|| stop);
    }

    fn begin(&self, deadline: Duration) {
        self.shared.begin(deadline);
    }

    fn all_reduce_directly(&self, data: &mut [f32]) -> Result<()> {
        let call = || self.mpi.world().allreduce_inplace(data, ReduceOp::Sum);
        self.shared.call(call).context("MPI's all-reduce failed")
    }

    fn finish(self: Box<Self>, exit_code: Option<u8>) {
        if let Some(code) = exit_code {
            thread::spawn(move || {
                thread::sleep(FAREWELL);
                // SAFETY: ends the process, without the clean-up of libraries, which may wait for other ranks.
                unsafe { libc::_exit(code.into()) }
            });
        }
        forget(self.spare.take());
        self.shared.receive_the_rest();
        drop(ManuallyDrop::into_inner(self.mpi));
    }

    fn abort(&self, cause: &str) -> ! {
        self.shared.abort(cause)
    }
}

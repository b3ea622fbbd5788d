//! `--collective`: what carries the messages between ranks.

use anyhow::{Result, ensure};
#[cfg(feature = "nccl")]
use candle_core::Device;

use crate::parallel::Place;
#[cfg(feature = "nccl")]
use crate::parallel::Processes;

/// What carries the messages between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Collective {
    /// MPI: processes
    Mpi,
    /// NCCL for gradients, between processes with a GPU each; the rest goes over MPI
    Nccl,
}

/// Checks that ranks can communicate as `asked`, at `place`. If `asked` is `None`, they use NCCL if each has a GPU, otherwise
/// MPI; the ranks of a single process are threads.
pub fn check(asked: Option<Collective>, place: Option<&Place>) -> Result<()> {
    let (option, feature, features) = match asked {
        None => return Ok(()),
        Some(Collective::Mpi) => ("mpi", cfg!(feature = "mpi"), "mpi"),
        Some(Collective::Nccl) => ("nccl", cfg!(feature = "nccl"), "cuda,mpi,nccl"),
    };
    ensure!(
        feature,
        "--collective {option}: this program was built without `--features {option}`. Build it with\n  cargo build --release \
         -p canopy --features {features}"
    );
    ensure!(
        place.is_some_and(|place| place.world_size > 1),
        "--collective {option} connects processes, but no launcher started several: use `mpirun -n 2 canopy train …`, srun or \
         `canopy launch`"
    );
    Ok(())
}

/// Uses NCCL between `processes` if `asked`, or if each has a GPU and nothing else is asked for; `device` is that of this
/// process. Returns whether it does. Every rank calls it.
///
/// # Errors
/// Returns the errors of [`Processes::use_nccl`], and an error if NCCL is asked for and no rank has a GPU.
#[cfg(feature = "nccl")]
pub fn connect(processes: &mut dyn Processes, asked: Option<Collective>, device: &Device) -> Result<bool> {
    if asked == Some(Collective::Mpi) {
        return Ok(false);
    }
    let uses = processes.use_nccl(device)?;
    ensure!(
        uses || asked != Some(Collective::Nccl),
        "--collective nccl: the ranks are on the CPU, and NCCL connects GPUs. Use --device cuda, or remove the option"
    );
    Ok(uses)
}

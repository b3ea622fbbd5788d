//! `--collective`: what carries the messages between ranks.

use anyhow::{Result, bail, ensure};
#[cfg(feature = "nccl")]
use candle_core::Device;

use crate::parallel::Place;
#[cfg(feature = "nccl")]
use crate::parallel::Processes;

/// What carries the messages between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Collective {
    /// Channels between the threads of one process
    Threads,
    /// MPI: processes
    Mpi,
    /// NCCL for gradients, between processes with a GPU each; the rest goes over MPI
    Nccl,
}

/// Features that this program was built with.
#[derive(Clone, Copy)]
pub struct Built {
    pub mpi: bool,
    pub nccl: bool,
}

impl Built {
    pub const THIS: Self = Self {
        mpi: cfg!(feature = "mpi"),
        nccl: cfg!(feature = "nccl"),
    };
}

/// Checks that ranks can communicate as `asked`, in a program with the features `built` at `place`. Without a wish they use NCCL
/// if each has a GPU, otherwise MPI; the ranks of a single process are threads.
///
/// # Errors
/// Returns an error if they cannot, with what to do.
pub fn check(asked: Option<Collective>, place: Option<&Place>, built: Built) -> Result<()> {
    let several = place.filter(|place| place.world_size > 1);
    let (option, feature, features) = match (asked, several) {
        (None, _) | (Some(Collective::Threads), None) => return Ok(()),
        (Some(Collective::Threads), Some(place)) => bail!(
            "--collective threads: {} started {} processes. Start one process with --ranks {}, or remove the option",
            place.launcher,
            place.world_size,
            place.world_size
        ),
        (Some(Collective::Mpi), _) => ("mpi", built.mpi, "mpi"),
        (Some(Collective::Nccl), _) => ("nccl", built.nccl, "cuda,mpi,nccl"),
    };
    ensure!(
        feature,
        "--collective {option}: this program was built without `--features {option}`. Build it with\n  cargo build --release \
         -p canopy --features {features}"
    );
    ensure!(
        several.is_some(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_must_fit_the_launcher_and_the_features() {
        let place = Place {
            rank: 0,
            world_size: 2,
            local_rank: 0,
            launcher: "Slurm",
        };
        let [none, all] = [false, true].map(|with| Built {
            mpi: with,
            nccl: with,
        });
        for asked in [None, Some(Collective::Mpi), Some(Collective::Nccl)] {
            check(asked, Some(&place), all).unwrap();
        }
        check(Some(Collective::Threads), None, none).unwrap();
        check(None, None, none).unwrap();
        for (asked, place, built, expected) in [
            (
                Collective::Threads,
                Some(&place),
                all,
                "Slurm started 2 processes",
            ),
            (Collective::Nccl, Some(&place), none, "--features cuda,mpi,nccl"),
            (Collective::Mpi, Some(&place), none, "--features mpi"),
            (Collective::Nccl, None, all, "mpirun -n 2"),
            (Collective::Mpi, None, all, "no launcher"),
        ] {
            let error = check(Some(asked), place, built).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

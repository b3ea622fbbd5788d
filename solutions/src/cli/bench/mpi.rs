//! `canopy bench mpi`: all-reduces over the processes that mpirun or srun started, beside MPI called directly.

use std::process::ExitCode;

use anyhow::{Result, ensure};

/// Options of `canopy bench mpi`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  mpirun -n 2 canopy bench mpi")]
pub struct Args {
    /// Repetitions of each all-reduce; the table shows medians
    #[arg(long, default_value_t = 200, value_name = "N")]
    repeats: usize,
}

/// Measures, and prints a table on rank 0.
///
/// # Errors
/// Returns an error if this is not one of several processes, or if this program was built without MPI.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.repeats > 0, "--repeats must be at least 1");
    measure(args.repeats)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(not(feature = "mpi"))]
fn measure(_: usize) -> Result<()> {
    anyhow::bail!("this program was built without `--features mpi`: build it with the feature (README.md)")
}

#[cfg(feature = "mpi")]
fn measure(repeats: usize) -> Result<()> {
    use crate::{
        cli::launcher,
        parallel::{Processes, mpi::Session},
    };

    let place = launcher::place()?.filter(|place| place.world_size > 1);
    let place = place
        .ok_or_else(|| anyhow::anyhow!("this measures several processes: mpirun -n 2 canopy bench mpi"))?;
    let session = Session::start(&place)?;
    let links = session.links()?;
    let leads = place.rank == 0;
    if leads {
        say!("{} ranks; medians of {repeats}, in µs", place.world_size);
        say!(
            "{:>9} {:>10} {:>10} {:>7} {:>10} {:>10}",
            "bytes",
            "engine",
            "MPI",
            "ratio",
            "ring",
            "tree"
        );
    }
    for power in (2..=24).step_by(2) {
        let numbers = (1usize << power) / size_of::<f32>();
        let found = session.all_reduce_seconds(&*links, numbers, repeats)?;
        if leads {
            let [engine, direct, ring, tree] =
                [found.engine, found.direct, found.ring, found.tree].map(|seconds| 1e6 * seconds);
            let ratio = engine / direct;
            say!(
                "{:>9} {engine:>10.1} {direct:>10.1} {ratio:>7.2} {ring:>10.1} {tree:>10.1}",
                1 << power
            );
        }
    }
    Box::new(session).finish(None);
    Ok(())
}

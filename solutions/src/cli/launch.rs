//! `canopy launch`: starts `canopy train` with one process per rank.

use std::{
    env, io,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, anyhow, bail, ensure};

/// Options of `canopy launch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  canopy launch --ranks 2 -- train --epochs 5
  canopy launch --ranks 4 -- train --resume runs/quick

In a Slurm job with several nodes, mpirun starts the ranks on the nodes of the job.")]
pub struct Args {
    /// Number of processes, one rank each
    #[arg(long, value_name = "N")]
    ranks: usize,
    /// The command: `train` and its options
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Settings of Open MPI, which other libraries ignore; those in the environment take precedence. More ranks than cores are
/// allowed. After SIGTERM, mpirun kills ranks that still save after 5 s instead of one. Not longer: it always waits twice as long.
const SETTINGS: [(&str, &str); 3] = [
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("OMPI_MCA_odls_base_sigkill_timeout", "5"),
];

/// Calls mpirun.
///
/// # Errors
/// Returns an error if this program was built without MPI, there is no mpirun, or the command is not `train`.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.ranks > 0, "--ranks is 0: expected at least one rank");
    ensure!(
        args.command.first().is_some_and(|command| command == "train"),
        "only `train` runs on several ranks: canopy launch --ranks {} -- train …",
        args.ranks
    );
    let mut command = mpirun(args.ranks)?;
    let program = command.get_program().to_owned();
    let error = replace_by(command.args(&args.command))?;
    Err(anyhow!(error).context(format!("{} does not start", program.display())))
}

/// Returns the command that starts this program on `ranks` ranks, without the program's arguments.
///
/// # Errors
/// Returns an error if this program was built without MPI, or there is no mpirun.
pub fn mpirun(ranks: usize) -> Result<Command> {
    ensure!(
        cfg!(feature = "mpi"),
        "this program was built without `--features mpi`: build it with the feature (README.md), or train with ranks that \
         are threads, `canopy train --ranks {ranks}`"
    );
    let canopy = env::current_exe().context("the path of this program is unknown")?;
    let mut command = Command::new(path_of_mpirun()?);
    command.arg("-n").arg(ranks.to_string()).arg(canopy);
    for (name, value) in SETTINGS {
        if env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    Ok(command)
}

/// Replaces this process by `command`, so that signals reach mpirun itself. Returns only if that fails.
#[cfg(unix)]
fn replace_by(command: &mut Command) -> Result<io::Error> {
    use std::os::unix::process::CommandExt;
    Ok(command.exec())
}

/// Runs `command` and exits with its exit code. Returns only if it does not start.
#[cfg(not(unix))]
fn replace_by(command: &mut Command) -> Result<io::Error> {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => Ok(error),
    }
}

/// Returns the path of mpirun, or of mpiexec where there is none.
fn path_of_mpirun() -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    for name in ["mpirun", "mpiexec"] {
        let name = format!("{name}{}", env::consts::EXE_SUFFIX);
        let found = env::split_paths(&path).map(|folder| folder.join(&name));
        if let Some(found) = found.into_iter().find(|file| file.is_file()) {
            return Ok(found);
        }
    }
    bail!(
        "there is no mpirun or mpiexec on the PATH: `apt-get install openmpi-bin` (Debian, Ubuntu), `brew install open-mpi` \
         (macOS), or load your cluster's MPI module"
    )
}

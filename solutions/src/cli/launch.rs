//! `canopy launch`: starts `canopy train` with one process per rank.

use std::{
    env, io,
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

/// Calls mpirun, or mpiexec where there is none.
pub fn run(args: &Args) -> Result<ExitCode> {
    let ranks = args.ranks;
    ensure!(ranks > 0, "--ranks is 0: expected at least one rank");
    ensure!(
        args.command.first().is_some_and(|command| command == "train"),
        "only `train` runs on several ranks: canopy launch --ranks {ranks} -- train …"
    );
    ensure!(
        cfg!(feature = "mpi"),
        "this program was built without `--features mpi`: build it with the feature (README.md), or train with ranks that \
         are threads, `canopy train --ranks {ranks}`"
    );
    let canopy = env::current_exe().context("the path of this program is unknown")?;
    for name in ["mpirun", "mpiexec"] {
        let mut command = Command::new(name);
        command.arg("-n").arg(ranks.to_string()).arg(&canopy);
        let unset = SETTINGS
            .into_iter()
            .filter(|(name, _)| env::var_os(name).is_none());
        command.args(&args.command).envs(unset);
        let error = replace_by(&mut command);
        if error.kind() != io::ErrorKind::NotFound {
            return Err(anyhow!(error).context(format!("{name} does not start")));
        }
    }
    bail!(
        "there is no mpirun or mpiexec on the PATH: `apt-get install openmpi-bin` (Debian, Ubuntu), `brew install open-mpi` \
         (macOS), or load your cluster's MPI module"
    )
}

/// Replaces this process by `command`, so that signals reach mpirun itself. Returns only if that fails.
#[cfg(unix)]
fn replace_by(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

/// Runs `command` and exits with its exit code. Returns only if it does not start.
#[cfg(not(unix))]
fn replace_by(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

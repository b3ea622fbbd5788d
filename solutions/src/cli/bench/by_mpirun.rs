//! Benchmarks that start themselves as several processes.

use std::{
    env,
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

use crate::cli::launch::mpirun;

/// Why this program cannot start ranks that are processes; `None` if it can.
pub fn missing() -> Option<String> {
    mpirun(2).err().map(|reason| format!("{reason:#}"))
}

/// The exit code of a benchmark that could not measure processes for `reason`: a failure if their job failed.
pub fn exit_code(reason: Option<&str>) -> ExitCode {
    match reason.is_some() && missing().is_none() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Runs the command of this process on `ranks` ranks with mpirun, and returns what rank 0 printed as JSON.
///
/// # Errors
/// Returns an error if this program was built without MPI, there is no mpirun, or the job fails.
pub fn found<T: DeserializeOwned>(ranks: usize) -> Result<T> {
    // The options of this process, which are the same for the ranks, without a plot of theirs.
    let mut words: Vec<_> = env::args_os().skip(1).collect();
    if let Some(at) = words.iter().position(|word| word == "--plot") {
        words.drain(at..at + 2);
    }
    words.retain(|word| word != "--json" && !word.to_string_lossy().starts_with("--plot="));
    let mut job = mpirun(ranks)?;
    let output = job.args(words).arg("--json").stderr(Stdio::inherit()).output();
    let output = output.context("mpirun does not start")?;
    ensure!(
        output.status.success(),
        "mpirun -n {ranks} failed: {}",
        output.status
    );
    serde_json::from_slice(&output.stdout).context("what rank 0 printed is not the expected JSON")
}

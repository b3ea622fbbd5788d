//! `cargo course grade`: writes a `grade.json` for each submission. Students' code is compiled and run in a sandbox.

#[cfg(target_os = "linux")]
mod class;
#[cfg(target_os = "linux")]
pub use class::{grade, race::score};

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

#[cfg(not(target_os = "linux"))]
use anyhow::Result;

use crate::late::{instant, percent};

/// Options of `cargo course grade`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo course grade handed-in --out graded\n  \
    cargo course grade handed-in --out graded --due 2026-11-20T23:59:00Z --late 10\n\n\
    Exit codes: 0 all graded, 1 some not graded, 2 grading could not start.")]
pub struct Options {
    /// Archives that `cargo course pack` wrote, their folders, or folders of these
    #[arg(required = true)]
    pub submissions: Vec<PathBuf>,
    /// Folder for the grades: OUT/SUBMISSION/grade.json
    #[arg(long)]
    pub out: PathBuf,
    /// Lessons to grade, such as 01,02 [default: those that were handed in]
    #[arg(long, value_delimiter = ',')]
    pub lesson: Vec<String>,
    /// Grade this submission again, or `all`
    #[arg(long, value_name = "SUBMISSION")]
    pub again: Vec<String>,
    /// Due time with its time zone, such as 2026-11-20T23:59:00Z
    #[arg(long, requires = "late", value_parser = instant)]
    pub due: Option<u64>,
    /// Percent of the points to deduct for each day, full or begun, after the due time
    #[arg(long, value_name = "PERCENT", requires = "due", value_parser = percent)]
    pub late: Option<f64>,
    /// CSV of the students: names for the tables, times for lateness; see `cargo course marks --help`
    #[arg(long, value_name = "FILE.csv")]
    pub roster: Option<PathBuf>,
    /// Seed of the checks' inputs [default: random, the same for all submissions of OUT]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Submissions to grade in parallel [default: the number of CPU cores]
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Run without bubblewrap, in a container (Gradescope, GitHub) or a job (Slurm) that isolates each submission
    #[arg(long)]
    pub inside_container: bool,
    /// Give no points for an exercise that calls canopy's own function [default: only add a remark]
    #[arg(long)]
    pub refuse_solution_calls: bool,
    /// Memory limit of an answer in MiB
    #[arg(long, default_value_t = 1024)]
    pub memory: u64,
    /// Time limit for all checks of an exercise in seconds
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
}

/// Grades the submissions. The exit code is 0 if all could be graded, 1 if some could not, 2 if grading could not
/// start.
pub fn run(root: &Path, options: Options) -> ExitCode {
    match grade(root, options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("cargo course grade: {error:#}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub fn score(_: &Path, _: &crate::capstone::Options) -> Result<crate::capstone::Board> {
    refused()
}

#[cfg(not(target_os = "linux"))]
fn grade(_: &Path, _: Options) -> Result<bool> {
    refused()
}

#[cfg(not(target_os = "linux"))]
fn refused<T>() -> Result<T> {
    anyhow::bail!(
        "grading runs untrusted programs, and only Linux has the sandbox for them (bubblewrap): use a Linux \
         machine, WSL on Windows, or a virtual machine on macOS"
    )
}

//! `cargo course grade`: submissions in, a `grade.json` each out. A student's code is compiled and run where it can
//! reach nothing; the verdicts are the course's own.

#[cfg(target_os = "linux")]
mod answer;
#[cfg(target_os = "linux")]
mod class;
#[cfg(target_os = "linux")]
mod compile;
#[cfg(target_os = "linux")]
mod hold;
#[cfg(target_os = "linux")]
mod look;
#[cfg(target_os = "linux")]
mod named;
#[cfg(target_os = "linux")]
mod one;
#[cfg(target_os = "linux")]
mod placed;
#[cfg(target_os = "linux")]
mod prepare;
#[cfg(target_os = "linux")]
mod take;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use clap::{Args, ValueEnum};
use grader::late::{Policy, duration, instant};

/// What `cargo course grade` is asked.
#[derive(Args)]
pub struct Options {
    /// Folders, .tar, .tar.gz, .tgz or .zip, one a submission; or folders of such.
    #[arg(required = true)]
    pub submissions: Vec<PathBuf>,
    /// Where the grades go: OUT/SUBMISSION/grade.json.
    #[arg(long)]
    pub out: PathBuf,
    /// Grade these lessons (01), handed in or not; otherwise those that were handed in.
    #[arg(long, value_delimiter = ',')]
    pub lesson: Vec<String>,
    /// Grade this submission again; `all` for every one.
    #[arg(long, value_name = "SUBMISSION")]
    pub again: Vec<String>,
    /// When it was due, with its zone: 2026-11-20T23:59:00Z.
    #[arg(long, requires = "late", value_parser = instant)]
    pub due: Option<u64>,
    /// What lateness takes: 10%/day, 5%/hour.
    #[arg(long, requires = "due")]
    pub late: Option<Policy>,
    /// How late costs nothing: 15m, 2h.
    #[arg(long, requires = "due", default_value = "0s", value_parser = duration)]
    pub grace: u64,
    /// When a submission came: as it was packed, by the student's own clock, or as its file is dated.
    #[arg(long, value_enum, default_value_t = Clock::Packed)]
    pub clock: Clock,
    /// The seed of the checks' inputs; otherwise one for all submissions of OUT.
    #[arg(long)]
    pub seed: Option<u64>,
    /// How many at once; otherwise half of the processors.
    #[arg(long)]
    pub jobs: Option<usize>,
    /// What this machine must grant, or nothing is graded: files, landlock, limits, network, processes, seccomp, user.
    #[arg(long, value_delimiter = ',')]
    pub require: Vec<String>,
    /// MiB of memory that an answer may use.
    #[arg(long, default_value_t = 1024)]
    pub memory: u64,
    /// Seconds that the checks of one exercise may take together.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
}

/// Whose clock tells when a submission came.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Clock {
    /// What `cargo course pack` wrote; the file's date where it wrote nothing.
    Packed,
    /// The date of the archive or folder.
    File,
}

/// Grades them, and says how it went: 0 where every one could be graded, 1 where some could not, 2 where nothing could
/// be begun.
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

#[cfg(target_os = "linux")]
fn grade(root: &Path, options: Options) -> Result<bool> {
    class::grade(root, options)
}

/// Becomes a held program; comes back only where it cannot. Its specification is the grader's own.
#[cfg(target_os = "linux")]
pub fn hold(spec: &str) -> Result<u8> {
    Ok(hold::inside::hold(&serde_json::from_str(spec)?) as u8)
}

#[cfg(not(target_os = "linux"))]
fn grade(_: &Path, _: Options) -> Result<bool> {
    anyhow::bail!(
        "grading runs other people's programs, and only Linux has what holds them in (Landlock, namespaces): \
         use a Linux machine, on Windows WSL, on macOS a virtual machine"
    )
}

#[cfg(not(target_os = "linux"))]
pub fn hold(_: &str) -> Result<u8> {
    anyhow::bail!("only Linux holds programs in")
}

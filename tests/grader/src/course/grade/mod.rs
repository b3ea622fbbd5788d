//! `cargo course grade`: submissions in, a `grade.json` each out. A student's code is compiled and run where it can
//! reach nothing; the verdicts are the course's own.

#[cfg(target_os = "linux")]
mod answer;
#[cfg(target_os = "linux")]
mod compile;
#[cfg(target_os = "linux")]
mod hold;
#[cfg(target_os = "linux")]
mod look;
#[cfg(target_os = "linux")]
mod one;
#[cfg(target_os = "linux")]
mod prepare;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod take;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

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

/// Grades them. `true` where every one could be graded.
#[cfg(target_os = "linux")]
pub fn grade(root: &Path, options: Options) -> Result<bool> {
    run::grade(root, options)
}

/// Becomes a held program; comes back only where it cannot. Its specification is the grader's own.
#[cfg(target_os = "linux")]
pub fn hold(spec: &str) -> Result<u8> {
    Ok(hold::inside::hold(&serde_json::from_str(spec)?) as u8)
}

#[cfg(not(target_os = "linux"))]
pub fn grade(_: &Path, _: Options) -> Result<bool> {
    anyhow::bail!(
        "grading runs other people's programs, and only Linux has what holds them in (Landlock, namespaces): \
         use a Linux machine, on Windows WSL, on macOS a virtual machine"
    )
}

#[cfg(not(target_os = "linux"))]
pub fn hold(_: &str) -> Result<u8> {
    anyhow::bail!("only Linux holds programs in")
}

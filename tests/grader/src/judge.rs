//! `grade --judge`, which `cargo course grade` runs: some checks, with each verdict sent over a channel that the student's
//! code cannot write to.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{Lesson, Outcome, harness::Grading};

/// The descriptor on which the grader waits for verdicts. The grader opens nothing else in the process.
#[cfg(unix)]
const CHANNEL: i32 = 3;

/// Sent instead of a check's name before any code of the student's runs.
pub const START: &str = "start";

/// Sent instead of a check's name when all checks have run.
pub const END: &str = "end";

/// Maximum number of characters in the report of a check.
const MAX_REPORT: usize = 4_000;

/// One line on the channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What the grader sent at the start. A line without it is not from this program.
    pub nonce: String,
    /// The check: `1.2::is_the_mean_over_rows`.
    pub check: String,
    /// Its result in a word and its report; `None` when the check starts.
    pub end: Option<(String, String)>,
}

/// The channel to the grader, which the student's code cannot name.
pub struct Channel {
    stream: BufReader<File>,
    nonce: String,
}

impl Channel {
    /// Opens it, and returns what the grader sent after the nonce.
    ///
    /// # Errors
    /// Returns an error if there is no grader.
    pub fn open() -> Result<(Self, Vec<String>)> {
        let mut stream = BufReader::new(channel()?);
        let mut first = String::new();
        stream.read_line(&mut first).context("the grader sent no nonce")?;
        let mut words = first.split_whitespace().map(str::to_owned);
        let nonce = words.next().unwrap_or_default();
        Ok((Self { stream, nonce }, words.collect()))
    }

    /// Sends a line.
    ///
    /// # Errors
    /// Returns an error if the grader does not listen.
    pub fn send(&mut self, check: &str, end: Option<(String, String)>) -> Result<()> {
        let (nonce, check) = (self.nonce.clone(), check.to_owned());
        let mut line = serde_json::to_string(&Line { nonce, check, end })?;
        line.push('\n');
        Ok(self.stream.get_mut().write_all(line.as_bytes())?)
    }
}

/// Reads a line `NONCE SEED CHECK…` from the channel, runs these checks and sends their results. For `NONCE list` it sends
/// the names of all checks. They are not arguments, because an answer can read those.
pub(crate) fn judge<C: Copy + Send + Sync>(lesson: &'static Lesson<C>, student: C) -> Result<()> {
    let (mut channel, words) = Channel::open()?;
    let mut words = words.iter();
    let seed = words.next().map_or("", String::as_str);
    let mut send = |check: &str, end| channel.send(check, end);
    if seed == "list" {
        return lesson.checks().try_for_each(|c| send(&c.full_name(), None));
    }
    send(START, None)?;
    let grading = Grading::new(lesson, student, seed.parse().context("no seed")?)?;
    for name in words {
        let mut checks = lesson.checks();
        let check = checks.find(|check| check.full_name() == *name);
        let check = check.with_context(|| format!("there is no check {name}"))?;
        send(name, None)?;
        let outcome = grading.outcome(check);
        let mut report = String::new();
        if !matches!(outcome, Outcome::Passed) {
            report.extend(grading.report(check, &outcome).chars().take(MAX_REPORT));
        }
        send(name, Some((outcome.word().to_owned(), report)))?;
        if matches!(outcome, Outcome::Stuck(_)) {
            break;
        }
    }
    // An answer that exits the process early cannot send this: it does not know the nonce.
    send(END, None)
}

/// The channel. It is closed on exec, in any program that the student's code starts.
#[cfg(unix)]
fn channel() -> io::Result<File> {
    use std::os::fd::FromRawFd;
    // Inside a container there is a `/proc`, and safe code that may write to `/proc/self/mem` could change verdicts.
    // SAFETY: the arguments are integers. After the call, files below `/proc/self` belong to root; the grader does not
    // run this as root.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    // SAFETY: fcntl accepts any integer, and fails if it is not an open descriptor.
    if unsafe { libc::fcntl(CHANNEL, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and nothing else in the process owns it: this is called once, before anything else.
    Ok(unsafe { File::from_raw_fd(CHANNEL) })
}

#[cfg(not(unix))]
fn channel() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

//! What `cargo course grade` runs of a student: some checks, each verdict written where the student's code cannot.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::{Lesson, Outcome, harness};

/// The descriptor on which the grader waits for verdicts; nothing else of its own is open in the process.
pub const CHANNEL: i32 = 3;

/// In the place of a check: all that were asked for have had their turn.
pub const END: &str = "end";

/// The most characters that are told of a check.
const TOLD: usize = 4_000;

/// One line on the channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What the grader sent at the start; a line without it is none of ours.
    pub nonce: String,
    /// The check: `1.2::is_the_mean_over_rows`.
    pub check: String,
    /// Its word and what is told of it; nothing where it only begins.
    pub end: Option<(String, String)>,
}

/// Runs the checks that the arguments name and tells of each over the channel: `PROGRAM SEED CHECK…`, or
/// tells the names of all: `PROGRAM list`. The whole `main`
/// of the program that `cargo course grade` makes of a submission.
pub fn judge<C: Copy + Send + Sync + 'static>(lesson: &'static Lesson<C>, student: C) -> ExitCode {
    match judged(lesson, student) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(102)
        }
    }
}

fn judged<C: Copy + Send + Sync>(lesson: &'static Lesson<C>, student: C) -> Result<()> {
    let mut channel = BufReader::new(channel()?);
    let mut nonce = String::new();
    channel.read_line(&mut nonce).context("the grader said nothing")?;
    let nonce = nonce.trim().to_owned();
    let mut arguments = std::env::args().skip(1);
    let seed = arguments.next().unwrap_or_default();
    let mut say = |check: &str, end: Option<(String, String)>| -> Result<()> {
        let (nonce, check) = (nonce.clone(), check.to_owned());
        let mut line = serde_json::to_string(&Line { nonce, check, end })?;
        line.push('\n');
        Ok(channel.get_mut().write_all(line.as_bytes())?)
    };
    if seed == "list" {
        return lesson.checks.iter().try_for_each(|c| say(&c.full_name(), None));
    }
    let grading = harness::plain(lesson, student, seed.parse().context("no seed")?)?;
    for name in arguments {
        let Some(check) = lesson.checks.iter().find(|c| c.full_name() == name) else {
            bail!("there is no check {name}");
        };
        say(&name, None)?;
        let outcome = grading.outcome(check);
        let told = match &outcome {
            Outcome::Passed => String::new(),
            other => grading.told(check, other).chars().take(TOLD).collect(),
        };
        say(&name, Some((harness::word(&outcome).to_owned(), told)))?;
        if matches!(outcome, Outcome::Stuck { .. }) {
            break;
        }
    }
    // Whoever ends the process cannot say this.
    say(END, None)
}

/// The channel, closed in whatever program the student's code might start.
#[cfg(unix)]
fn channel() -> io::Result<File> {
    use std::os::fd::FromRawFd;
    // SAFETY: fcntl takes any number; it says where none is open by it.
    if unsafe { libc::fcntl(CHANNEL, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and nobody else in the process has it: this is called once, first of all.
    Ok(unsafe { File::from_raw_fd(CHANNEL) })
}

#[cfg(not(unix))]
fn channel() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

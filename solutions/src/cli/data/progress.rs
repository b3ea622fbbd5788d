//! Progress of a long operation on standard error: a bar on a terminal, otherwise a line every 10 s.

use std::{
    io::{IsTerminal, stderr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::cli::stop;

/// Operations that take less show no progress.
const QUIET: Duration = Duration::from_secs(2);
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The error after Ctrl-C.
#[derive(Debug)]
pub struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped; no incomplete file has its final name")
    }
}

impl std::error::Error for Stopped {}

/// The unit of the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Trees, files, scans.
    Things,
    /// Bytes.
    Bytes,
}

/// Progress of an operation, which Ctrl-C stops.
pub struct Progress {
    what: String,
    unit: Unit,
    bar: Option<ProgressBar>,
    began: Instant,
    told: Instant,
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Of an operation named `what`, such as "importing".
    pub fn new(what: &str, unit: Unit) -> Self {
        Self {
            what: what.to_owned(),
            unit,
            bar: None,
            began: Instant::now(),
            told: Instant::now(),
            stop: stop_flag(),
        }
    }

    /// Reports that `done` of `total` are done.
    ///
    /// # Errors
    /// Returns [`Stopped`] after Ctrl-C.
    pub fn at(&mut self, done: u64, total: Option<u64>) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            self.clear();
            return Err(Stopped.into());
        }
        if self.began.elapsed() < QUIET {
            return Ok(());
        }
        if stderr().is_terminal() {
            let (what, unit) = (&self.what, self.unit);
            let bar = self.bar.get_or_insert_with(|| bar(what, unit, total.is_some()));
            if let Some(total) = total {
                bar.set_length(total);
            }
            bar.set_position(done);
        } else if self.told.elapsed() > BETWEEN_LINES {
            self.told = Instant::now();
            let of = total.map_or(String::new(), |t| format!(" of {}", self.amount(t)));
            eprintln!("{}: {}{of}", self.what, self.amount(done));
        }
        Ok(())
    }

    /// Removes the bar.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn amount(&self, n: u64) -> String {
        match self.unit {
            Unit::Things => n.to_string(),
            Unit::Bytes => HumanBytes(n).to_string(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The flag that Ctrl-C sets. If it cannot be caught, Ctrl-C ends the program; incomplete files have no final name.
fn stop_flag() -> Arc<AtomicBool> {
    stop::flag().unwrap_or_default()
}

fn bar(what: &str, unit: Unit, whole: bool) -> ProgressBar {
    let template = match (unit, whole) {
        (Unit::Things, _) => "{msg} {bar:24.green} {pos}/{len} · {eta} left",
        (Unit::Bytes, true) => "{msg} {bar:24.green} {bytes}/{total_bytes} · {bytes_per_sec} · {eta} left",
        (Unit::Bytes, false) => "{msg} {bytes} · {bytes_per_sec}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0)
        .with_style(style.progress_chars("━╸─"))
        .with_message(what.to_owned())
}

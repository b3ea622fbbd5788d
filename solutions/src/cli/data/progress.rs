//! A bar on a terminal, a line now and then elsewhere; both on standard error, and only for what takes long.

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

/// What is done sooner shows no progress.
const QUIET: Duration = Duration::from_secs(2);
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Ctrl-C was pressed.
#[derive(Debug)]
pub struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped; nothing half-written bears a final name")
    }
}

impl std::error::Error for Stopped {}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Trees, files, scans.
    Things,
    /// Bytes.
    Bytes,
}

/// How far something is, and whether Ctrl-C asks to end it.
pub struct Progress {
    what: String,
    unit: Unit,
    bar: Option<ProgressBar>,
    began: Instant,
    told: Instant,
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Of something called `what`: "importing".
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

    /// Says that `done` of `total` are done.
    ///
    /// # Errors
    /// Where Ctrl-C was pressed.
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

    /// Takes the bar away.
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

/// One flag for all that a command does. Where Ctrl-C cannot be caught it ends the program, and what is
/// unfinished bears no final name.
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

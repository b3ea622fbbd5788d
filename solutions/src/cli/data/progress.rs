//! Progress of a long operation: a bar on standard error, if that is a terminal, and an end by Ctrl-C.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Result;
use indicatif::ProgressBar;

use crate::cli::stop;

/// The error after Ctrl-C.
#[derive(Debug)]
pub struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped; no incomplete file has its final name")
    }
}

impl std::error::Error for Stopped {}

/// Progress of an operation, which Ctrl-C stops. The bar is removed when it is dropped.
pub struct Progress {
    bar: ProgressBar,
    /// Set by Ctrl-C. If that cannot be caught, Ctrl-C ends the program; incomplete files have no final name.
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Of an operation named `what`, such as "importing", whose items are counted.
    pub fn new(what: &str) -> Self {
        Self {
            bar: crate::train::bar(0, what),
            stop: stop::flag().unwrap_or_default(),
        }
    }

    /// Reports that `done` of `total` are done; 0 if the total is unknown.
    ///
    /// # Errors
    /// Returns [`Stopped`] after Ctrl-C.
    pub fn at(&self, done: usize, total: usize) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Stopped.into());
        }
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
        Ok(())
    }

    /// Reports that one more of `total` is done.
    ///
    /// # Errors
    /// Returns [`Stopped`] after Ctrl-C.
    pub fn one(&self, total: usize) -> Result<()> {
        self.bar.inc(1);
        self.at(self.bar.position() as usize, total)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

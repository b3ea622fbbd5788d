//! What a rank says that it is doing: a sign of life, and part of the error if it fails or stalls.

use std::sync::Arc;

use crate::parallel::Collective;

use super::{control::Control, ending::Reports};

/// What one rank is doing.
#[derive(Clone)]
pub struct Activity {
    rank: usize,
    reports: Reports,
    control: Arc<Control>,
    step: u64,
}

impl Activity {
    pub fn new(rank: usize, reports: Reports, control: Arc<Control>) -> Self {
        Self {
            rank,
            reports,
            control,
            step: 0,
        }
    }

    /// Says what this rank is about to do.
    pub fn say(&self, what: &str) {
        self.reports.doing(self.rank, what);
        self.control.link().doing(what);
    }

    /// The coming step.
    pub fn begin_step(&mut self, step: u64) {
        self.step = step;
    }

    /// Says what this rank is about to do within its step.
    pub fn within_step(&self, what: &str) {
        self.say(&format!("in step {}, {what}", self.step));
    }
}

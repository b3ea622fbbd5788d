//! The activity that a rank reports: a sign of life, and part of the error if the rank fails or stalls.

use std::sync::Arc;

use super::{control::Control, ending::Reports};

/// Reports the activity of one rank.
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

    /// Reports what this rank is about to do.
    pub fn say(&self, what: &str) {
        self.reports.doing(self.rank, what);
        self.control.link().doing(what);
    }

    /// Sets the current step.
    pub fn begin_step(&mut self, step: u64) {
        self.step = step;
    }

    /// Reports what this rank is about to do within the current step.
    pub fn within_step(&self, what: &str) {
        self.say(&format!("in step {}, {what}", self.step));
    }
}

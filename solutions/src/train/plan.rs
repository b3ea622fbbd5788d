//! Which clouds each step of a run learns from, and at what rate: the same for every rank.

use anyhow::Result;

use super::{Config, remaining};
use crate::loader::{iterations, micro_batches};

/// A run's steps.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The run's configuration.
    pub config: &'a Config,
    /// The records that train.
    pub train: &'a [usize],
}

impl Plan<'_> {
    /// Training steps of an epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        let size = self.config.batch * self.config.accumulate;
        iterations(self.train.len(), size, true) as u64
    }

    /// Records of each micro-batch of each step of epoch `epoch`, but for the first `done` steps.
    ///
    /// # Errors
    /// Batches of 0 clouds.
    pub fn steps(&self, epoch: usize, done: usize) -> Result<Vec<Vec<Vec<usize>>>> {
        let size = self.config.batch * self.config.accumulate;
        let todo = remaining(self.train, size, self.config.seed, (epoch, done))?;
        Ok(micro(&todo, self.config.batch))
    }

    /// The learning rate of step `step`.
    ///
    /// # Errors
    /// The schedule's.
    pub fn learning_rate(&self, step: u64) -> Result<f64> {
        let steps = self.steps_per_epoch();
        let total = steps * self.config.epochs as u64;
        let schedule = self.config.schedule()?;
        schedule.rate(step, steps, total, self.config.learning_rate)
    }
}

/// Each batch in micro-batches of at most `size` records.
pub(super) fn micro(todo: &[Vec<usize>], size: usize) -> Vec<Vec<Vec<usize>>> {
    todo.iter().map(|batch| micro_batches(batch, size)).collect()
}

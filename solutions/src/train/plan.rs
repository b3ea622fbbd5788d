//! The records and the learning rate of each step of a run, the same on every rank.

use anyhow::Result;

use super::{Config, remaining};
use crate::loader::{iterations, micro_batches};

/// The steps of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The run's configuration.
    pub config: &'a Config,
    /// The training records.
    pub train: &'a [usize],
}

impl Plan<'_> {
    /// Returns the number of optimizer steps per epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        let size = self.config.batch * self.config.accumulate;
        iterations(self.train.len(), size, true) as u64
    }

    /// Returns the records of each micro-batch of each step of epoch `epoch`, without its first `done` steps.
    ///
    /// # Errors
    /// Returns an error if the batch size is 0.
    pub fn steps(&self, epoch: usize, done: usize) -> Result<Vec<Vec<Vec<usize>>>> {
        let size = self.config.batch * self.config.accumulate;
        let todo = remaining(self.train, size, self.config.seed, (epoch, done))?;
        Ok(micro(&todo, self.config.batch))
    }

    /// Returns the learning rate of step `step`.
    ///
    /// # Errors
    /// Returns an error if the schedule's settings are invalid.
    pub fn learning_rate(&self, step: u64) -> Result<f64> {
        let steps = self.steps_per_epoch();
        let total = steps * self.config.epochs as u64;
        let schedule = self.config.schedule()?;
        schedule.rate(step, steps, total, self.config.learning_rate)
    }
}

/// Splits each batch into micro-batches of at most `size` records.
pub(super) fn micro(todo: &[Vec<usize>], size: usize) -> Vec<Vec<Vec<usize>>> {
    todo.iter().map(|batch| micro_batches(batch, size)).collect()
}

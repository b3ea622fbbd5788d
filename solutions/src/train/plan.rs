//! Which clouds each step of a run learns from, and at what rate: the same for every rank.

use anyhow::Result;

use super::Config;
use crate::loader::{batches, epoch_order, iterations, micro_batches};

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
    pub fn steps(&self, epoch: usize, done: usize) -> Vec<Vec<Vec<usize>>> {
        let order: Vec<usize> = epoch_order(self.train.len(), self.config.seed, epoch as u64)
            .into_iter()
            .map(|i| self.train[i])
            .collect();
        let mut todo = batches(&order, self.config.batch * self.config.accumulate, true);
        let todo = todo.split_off(done.min(todo.len()));
        let micro = |batch: &Vec<usize>| micro_batches(batch, self.config.batch);
        todo.iter().map(micro).collect()
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

//! Which clouds each step of a run learns from, and at what learning rate: the same for every rank.

use anyhow::Result;

use super::{Config, remaining};
use crate::loader::{Points, epoch_by_length, iterations, micro_batches};

/// The steps of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The run's configuration.
    pub config: &'a Config,
    /// The training records.
    pub train: &'a [usize],
    /// Points of every record's cloud if they keep their length ([`lengths`](crate::loader::lengths)); otherwise empty.
    pub lengths: &'a [usize],
}

impl Plan<'_> {
    /// Clouds of a step.
    fn size(&self) -> usize {
        self.config.batch * self.config.accumulate
    }

    /// Training steps of an epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        let steps = match self.config.cloud_points() {
            Points::Fixed(_) => iterations(self.train.len(), self.size(), true),
            // Every epoch has equally many.
            Points::All { .. } => epoch_by_length(self.train, self.lengths, self.size(), (0, 0)).len(),
        };
        steps as u64
    }

    /// The records of each step of epoch `epoch` except the first `done`.
    ///
    /// # Errors
    /// Returns an error if a batch would have 0 clouds.
    pub fn batches(&self, epoch: usize, done: usize) -> Result<Vec<Vec<usize>>> {
        let seed = self.config.seed;
        Ok(match self.config.cloud_points() {
            Points::Fixed(_) => remaining(self.train, self.size(), seed, (epoch, done))?,
            Points::All { .. } => {
                let now = (seed, epoch as u64);
                let mut all = epoch_by_length(self.train, self.lengths, self.size(), now);
                all.split_off(done.min(all.len()))
            }
        })
    }

    /// The records of each micro-batch of each step of epoch `epoch` except the first `done` steps.
    ///
    /// # Errors
    /// As [`Plan::batches`].
    pub fn steps(&self, epoch: usize, done: usize) -> Result<Vec<Vec<Vec<usize>>>> {
        Ok(micro(&self.batches(epoch, done)?, self.config.batch))
    }

    /// Returns the learning rate of step `step`.
    ///
    /// # Errors
    /// Returns the schedule's error.
    pub fn learning_rate(&self, step: u64) -> Result<f64> {
        let steps = self.steps_per_epoch();
        let total = steps * self.config.epochs as u64;
        let (warmup, base) = (self.config.warmup, self.config.learning_rate);
        self.config.schedule.rate(step, [steps, total], warmup, base)
    }
}

/// Each batch cut into micro-batches of at most `size` records.
pub(super) fn micro(todo: &[Vec<usize>], size: usize) -> Vec<Vec<Vec<usize>>> {
    todo.iter().map(|batch| micro_batches(batch, size)).collect()
}

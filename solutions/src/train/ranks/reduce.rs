//! What a rank needs of a reduction of gradients.

use anyhow::Result;

use super::{RankMemory, RankStats};
use crate::{
    optim::Optimizer,
    parallel::Traffic,
    train::{RankShare, Reduce},
};

/// What a rank needs of a [`Reduce`], besides its steps.
pub trait RankReduce: Reduce {
    /// Prepares a step, of whose batch this rank has `share`.
    fn begin_step(&mut self, share: RankShare);

    /// Returns the communication so far; `control` is what was sent over the link for everything except gradients.
    fn stats(&self, control: Traffic) -> RankStats;

    /// Counts what this rank, which steps with `optimizer`, keeps.
    fn memory(&self, optimizer: &dyn Optimizer) -> Result<RankMemory>;
}

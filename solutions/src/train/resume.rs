//! Resuming a run: it continues bit-identical to a run that was never interrupted.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use candle_core::Tensor;

use crate::{
    loader::{batches, epoch_order},
    model::PointNet,
    optim::Optimizer,
};

// ANCHOR: Saved
/// The state that a run is resumed from.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Weights and running statistics by name ([`PointNet::to_map`]).
    pub model: HashMap<String, Tensor>,
    /// The optimizer's state by name ([`Optimizer::state`]).
    pub optimizer: HashMap<String, Tensor>,
    /// The seed of each epoch's order.
    pub seed: u64,
    /// The current epoch, from 0.
    pub epoch: usize,
    /// Batches of it that are completed.
    pub batch: usize,
}
// ANCHOR_END: Saved

/// Restores model and optimizer, and returns the remaining batches of the current epoch: record numbers, `records` in the
/// order of that epoch, split into batches of `size`. A last batch that is not full is dropped.
///
/// # Errors
/// Returns an error if the tensors are of another model or optimizer. The error names `source`, where the tensors come from.
pub fn resume_batches(
    saved: &Saved,
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    records: &[usize],
    size: usize,
    source: &str,
) -> Result<Vec<Vec<usize>>> {
    model.from_map(&saved.model, source)?;
    optimizer
        .load_state(&saved.optimizer)
        .with_context(|| source.to_owned())?;
    remaining(records, size, saved.seed, (saved.epoch, saved.batch))
}

/// The batches of epoch `at.0` after its first `at.1`.
///
/// # Errors
/// Returns an error if `size` is 0.
pub(super) fn remaining(
    records: &[usize],
    size: usize,
    seed: u64,
    at: (usize, usize),
) -> Result<Vec<Vec<usize>>> {
    ensure!(size > 0, "batches of 0 clouds");
    let order = epoch_order(records.len(), seed, at.0 as u64);
    let order: Vec<usize> = order.into_iter().map(|i| records[i]).collect();
    let mut all = batches(&order, size, true);
    Ok(all.split_off(at.1.min(all.len())))
}

//! Taking up a run where it was broken off, to the last bit.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use candle_core::Tensor;

use crate::{
    loader::{batches, epoch_order},
    model::PointNet,
    optim::Optimizer,
};

/// What a run goes on from, whatever file it came out of.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Weights and running statistics by name ([`PointNet::to_map`]).
    pub model: HashMap<String, Tensor>,
    /// What the optimizer remembers, by name ([`Optimizer::state`]).
    pub optimizer: HashMap<String, Tensor>,
    /// Seeds the order of each epoch.
    pub seed: u64,
    /// The epoch under way, from 0.
    pub epoch: usize,
    /// Its batches that are done.
    pub batch: usize,
}

/// Puts model and optimizer back, and gives the batches of the epoch under way that are still to do: record numbers, `records`
/// in the order of that epoch, cut into batches of `size`, the last left out where it is not full.
///
/// # Errors
/// Tensors of another model or optimizer; `source` says in them where the tensors come from.
pub fn take_up(
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

/// The batches of epoch `at.0` that come after its first `at.1`.
///
/// # Errors
/// A size of 0.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_and_what_remains_are_the_epoch() {
        let records: Vec<usize> = (100..123).collect();
        let whole = remaining(&records, 5, 3, (2, 0)).unwrap();
        assert_eq!(whole.len(), 4);
        for done in 0..=4 {
            assert_eq!(remaining(&records, 5, 3, (2, done)).unwrap(), whole[done..]);
        }
        assert!(remaining(&records, 5, 3, (2, 9)).unwrap().is_empty());
        assert_ne!(remaining(&records, 5, 3, (1, 0)).unwrap(), whole);
        assert!(remaining(&records, 0, 3, (0, 0)).is_err());
    }
}

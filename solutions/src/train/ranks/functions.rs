//! The functions by which ranks share batches and average gradients.

use std::sync::Arc;

use anyhow::{Result, ensure};
use candle_core::Tensor;

use crate::parallel::{
    AllReduce, Bucket, BucketSizes, Collective, Kind, average_gradients, buckets, ring_all_reduce,
    share_of_batch, share_of_epoch,
};

/// The functions by which ranks share batches and average gradients. The lesson's experiment replaces them by a student's
/// functions.
#[derive(Clone)]
#[allow(clippy::type_complexity, reason = "a signature is clearest written out")]
pub struct RankFunctions {
    /// A rank's share of an epoch, as [`share_of_epoch`].
    pub share: fn(&[usize], usize, usize, bool) -> Vec<usize>,
    /// Assigns gradients to buckets, as [`buckets`].
    pub buckets: fn(&[(usize, Kind)], BucketSizes) -> Vec<Bucket>,
    /// Sizes of the buckets.
    pub sizes: BucketSizes,
    /// Sums a bucket over the ranks, as [`ring_all_reduce`].
    pub all_reduce: AllReduce,
    /// Without overlap: how all gradients are averaged at once, as [`average_gradients`].
    pub average: fn(&dyn Collective, &mut [Tensor]) -> Result<()>,
    /// Called with the reason if rank 0 itself gives no sign of life: it is the caller's thread, which no other thread can
    /// end. Does nothing by default; a program may print the reason and exit.
    pub rank_0_has_stalled: fn(&str),
}

impl Default for RankFunctions {
    fn default() -> Self {
        Self {
            share: share_of_epoch,
            buckets,
            sizes: BucketSizes::default(),
            all_reduce: Arc::new(ring_all_reduce),
            average: average_gradients,
            rank_0_has_stalled: |_| {},
        }
    }
}

impl RankFunctions {
    /// Rank `rank`'s share of each micro-batch of each step.
    pub(in crate::train) fn shares(
        &self,
        steps: &[Vec<Vec<usize>>],
        rank: usize,
        world: usize,
    ) -> Result<Vec<Vec<Vec<usize>>>> {
        let share = |batch: &Vec<usize>| {
            let records = batch.len();
            ensure!(
                records >= world,
                "a batch of {records} clouds cannot be shared by {world} ranks: use fewer ranks, or no --accumulate"
            );
            let mine = share_of_batch(batch, rank, world, &self.share);
            ensure!(
                !mine.is_empty(),
                "rank {rank} of {world} has no share of a batch of {records} clouds"
            );
            Ok(mine)
        };
        steps
            .iter()
            .map(|micro| micro.iter().map(share).collect())
            .collect()
    }
}

/// Returns rank `rank`'s share of an epoch with its records in `order`, as PyTorch's `DistributedSampler` does: the records
/// `rank`, `rank + world_size`, `rank + 2·world_size`, ….
///
/// All shares have the same length, so that no rank takes more steps than another. If the length of `order` is no multiple
/// of `world_size`, it is padded with its own beginning (repeatedly, if necessary), or truncated if `drop_tail` is set.
///
/// The order must be the same on every rank: its seed depends on the run's seed and the epoch, but not on the rank.
pub fn share_of_epoch(order: &[usize], rank: usize, world_size: usize, drop_tail: bool) -> Vec<usize> {
    if order.is_empty() || world_size == 0 {
        return Vec::new();
    }
    let each = if drop_tail {
        order.len() / world_size
    } else {
        order.len().div_ceil(world_size)
    };
    let mine = (0..each).map(|i| order[(rank + i * world_size) % order.len()]);
    mine.collect()
}

/// A function with the signature of [`share_of_epoch`].
pub type Share<'a> = &'a dyn Fn(&[usize], usize, usize, bool) -> Vec<usize>;

/// Returns rank `rank`'s share of one batch, by `share`, which has the contract of [`share_of_epoch`]: the records `rank`,
/// `rank + world_size`, …. Each record of the batch is in exactly one share. If the batch size is no multiple of
/// `world_size`, the first ranks get one record more. If every batch size is a multiple, the shares of the batches are the
/// batches of the share of the epoch.
pub fn share_of_batch(batch: &[usize], rank: usize, world_size: usize, share: Share) -> Vec<usize> {
    let mut mine = share(batch, rank, world_size, true);
    let whole = batch.len() / world_size.max(1) * world_size;
    mine.extend(batch[whole..].get(rank));
    mine
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Shares of batches that the ranks divide are the batches of the share of the epoch.
        #[test]
        fn shares_of_batches_stride_by_world_size(records in 0usize..60, each in 1usize..5, world in 1usize..9) {
            let order: Vec<usize> = (0..records).map(|i| i * 3 + 1).collect();
            let share = |batch, rank| share_of_batch(batch, rank, world, &share_of_epoch);
            for rank in 0..world {
                let strided: Vec<usize> = order.iter().skip(rank).step_by(world).copied().collect();
                prop_assert_eq!(share(&order, rank), strided);
                let whole = &order[..records / (each * world) * each * world];
                let mine = share_of_epoch(whole, rank, world, false);
                for (batch, mine) in whole.chunks(each * world).zip(mine.chunks(each)) {
                    prop_assert_eq!(share(batch, rank), mine);
                }
            }
        }
    }
}

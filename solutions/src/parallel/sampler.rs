/// Rank `rank`'s share of an epoch whose records come in `order`: every `world_size`-th, from its own place, as PyTorch's
/// DistributedSampler. All shares are of one length, so that no rank waits for another's last batch: the order is padded
/// by its own beginning, again and again if need be, or with `drop_tail` cut to what divides.
///
/// The order must be the same on every rank: seed it by the run's seed and the epoch, not by the rank.
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

/// A function as [`share_of_epoch`].
pub type Share<'a> = &'a dyn Fn(&[usize], usize, usize, bool) -> Vec<usize>;

/// Rank `rank`'s share of one batch, by `share`, an answer as [`share_of_epoch`]'s: every record of the batch is some
/// rank's, once. What does not divide goes to the first ranks, one each, so shares differ by one record at most. The
/// records are the batch's numbers rank, rank + world_size, …: where every batch divides, these are the batches of
/// [`share_of_epoch`].
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
        #[test]
        fn shares_are_equal_and_hold_every_record(records in 1usize..60, world in 1usize..9, drop in any::<bool>()) {
            let order: Vec<usize> = (0..records).map(|i| (i * 7 + 3) % 60).collect();
            let shares: Vec<Vec<usize>> = (0..world).map(|r| share_of_epoch(&order, r, world, drop)).collect();
            prop_assert!(shares.iter().all(|s| s.len() == shares[0].len()));
            let mut all = shares.concat();
            all.sort_unstable();
            if drop {
                all.dedup();
                prop_assert_eq!(all.len(), records / world * world);
            } else {
                prop_assert!(order.iter().all(|r| all.contains(r)));
                prop_assert!(all.len() < records + world);
            }
        }
    }

    proptest! {
        #[test]
        fn shares_of_a_batch_hold_each_record_once_in_its_place(records in 0usize..60, world in 1usize..9) {
            let batch: Vec<usize> = (0..records).map(|i| i * 3 + 1).collect();
            for rank in 0..world {
                let mine = share_of_batch(&batch, rank, world, &share_of_epoch);
                let expected: Vec<usize> = batch.iter().skip(rank).step_by(world).copied().collect();
                prop_assert_eq!(mine, expected);
            }
        }

        #[test]
        fn batches_that_divide_are_cut_from_the_share_of_the_epoch(
            batches in 1usize..6,
            each in 1usize..5,
            world in 1usize..6,
        ) {
            let order: Vec<usize> = (0..batches * each * world).rev().collect();
            for rank in 0..world {
                let mine = share_of_epoch(&order, rank, world, false);
                for (batch, mine) in order.chunks(each * world).zip(mine.chunks(each)) {
                    prop_assert_eq!(share_of_batch(batch, rank, world, &share_of_epoch), mine);
                }
            }
        }
    }

    #[test]
    fn the_padding_is_the_orders_own_beginning() {
        let order = [5, 6, 7, 8, 9];
        assert_eq!(share_of_epoch(&order, 0, 2, false), [5, 7, 9]);
        assert_eq!(share_of_epoch(&order, 1, 2, false), [6, 8, 5]);
        assert_eq!(share_of_epoch(&[4], 2, 3, false), [4]);
        assert_eq!(share_of_epoch(&order, 1, 2, true), [6, 8]);
        assert!(share_of_epoch(&[], 0, 2, false).is_empty());
    }
}

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

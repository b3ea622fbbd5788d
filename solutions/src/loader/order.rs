//! The order in which an epoch visits the records, and how it is cut into batches.

use canopy_data::Purpose;

/// The order in which epoch `epoch` visits the records: a permutation of 0..n, a function of (n, seed, epoch) alone.
///
/// Because it depends on no other state, an epoch that was interrupted after batch k continues with batch k + 1.
pub fn epoch_order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    Purpose::EpochOrder.stream(seed, epoch).shuffle(&mut order);
    order
}

/// The number of batches of an epoch over `n` records in batches of `size`. With `drop_last`, a last batch that is not
/// full is dropped, unless it is the only one. So an epoch over at least one record has at least one batch.
///
/// # Panics
/// Panics if `size` is 0.
pub fn iterations(n: usize, size: usize, drop_last: bool) -> usize {
    if drop_last && n >= size {
        n / size
    } else {
        n.div_ceil(size)
    }
}

/// Cuts an order into its [`iterations`] batches.
///
/// # Panics
/// Panics if `size` is 0.
pub fn batches(order: &[usize], size: usize, drop_last: bool) -> Vec<Vec<usize>> {
    let kept = iterations(order.len(), size, drop_last);
    order.chunks(size).take(kept).map(<[usize]>::to_vec).collect()
}

/// Cuts a batch into micro-batches of at most `size` records and nearly equal length, for gradient accumulation. Every
/// micro-batch of a batch of several records has at least two, even if `size` is 1, because batch normalisation needs
/// two.
///
/// # Panics
/// Panics if `size` is 0.
pub fn micro_batches(batch: &[usize], size: usize) -> Vec<Vec<usize>> {
    let n = batch.len();
    let count = n.div_ceil(size).min(n / 2).max(1);
    let cut = |i: usize| i * n / count;
    (0..count).map(|i| batch[cut(i)..cut(i + 1)].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn batches_keep_the_order_and_drop_only_the_last(n in 0usize..200, size in 1usize..40) {
            let order: Vec<usize> = (0..n).rev().collect();
            prop_assert_eq!(batches(&order, size, false).concat(), order.clone());
            let kept = batches(&order, size, true).concat();
            let expected = if n < size { n } else { n / size * size };
            prop_assert_eq!(&kept[..], &order[..expected]);
        }
    }

    #[test]
    fn micro_batches_are_nearly_equal_and_never_of_one_record() {
        let sizes = |n: usize, size: usize| -> Vec<usize> {
            let batch: Vec<usize> = (0..n).collect();
            let cut = micro_batches(&batch, size);
            assert_eq!(cut.concat(), batch);
            cut.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(96, 32), [32, 32, 32]);
        assert_eq!(sizes(33, 32), [16, 17]);
        assert_eq!(sizes(3, 2), [3]);
        assert_eq!(sizes(1, 2), [1]);
    }
}

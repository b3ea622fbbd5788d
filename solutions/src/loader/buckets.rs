//! Batches of clouds that are about equally long, so that little is padded.

/// Cuts an epoch's `order` into batches of records of about one length.
///
/// A record goes into the first bucket whose bound is at least its length (`lengths[record]`), one longer than every
/// bound into a bucket of its own kind after the last. A bucket that has `size` records is a batch at once. At the end of the
/// order what is left in each bucket is a batch, from the shortest bucket to the longest. `bounds` ascend.
///
/// So a batch comes about when its last record does: the order's chance is the batches' chance.
pub fn length_buckets(lengths: &[usize], order: &[usize], bounds: &[usize], size: usize) -> Vec<Vec<usize>> {
    let mut filling = vec![Vec::new(); bounds.len() + 1];
    let mut batches = Vec::new();
    for &record in order {
        let bucket = bounds.partition_point(|&bound| bound < lengths[record]);
        filling[bucket].push(record);
        if filling[bucket].len() >= size {
            batches.push(std::mem::take(&mut filling[bucket]));
        }
    }
    batches.extend(filling.into_iter().filter(|left| !left.is_empty()));
    batches
}

/// The share of the points of `batches` that are padding, where each batch is as long as its longest record; 0 to 1.
pub fn padded_share(lengths: &[usize], batches: &[Vec<usize>]) -> f64 {
    let (mut real, mut all) = (0, 0);
    for batch in batches {
        let longest = batch.iter().map(|&r| lengths[r]).max().unwrap_or(0);
        real += batch.iter().map(|&r| lengths[r]).sum::<usize>();
        all += longest * batch.len();
    }
    (all - real) as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::{batches, epoch_order};
    use canopy_data::Philox;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_record_is_in_one_batch_with_others_of_its_bucket(
            lengths in prop::collection::vec(0usize..100, 0..60), size in 1usize..9, seed: u64,
        ) {
            let bounds = [10, 30, 70];
            let order = epoch_order(lengths.len(), seed, 0);
            let cut = length_buckets(&lengths, &order, &bounds, size);
            let mut all = cut.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
            let bucket = |r: usize| bounds.iter().filter(|&&b| b < lengths[r]).count();
            for batch in &cut {
                prop_assert!((1..=size).contains(&batch.len()));
                prop_assert!(batch.iter().all(|&r| bucket(r) == bucket(batch[0])));
            }
        }
    }

    #[test]
    fn a_batch_comes_when_it_is_full_and_the_rest_at_the_end() {
        let lengths = [5, 50, 10, 11, 900, 7, 50];
        let order = [6, 0, 2, 4, 1, 3, 5];
        assert_eq!(
            length_buckets(&lengths, &order, &[10, 100], 2),
            [vec![0, 2], vec![6, 1], vec![5], vec![3], vec![4]]
        );
    }

    #[test]
    fn buckets_pad_less_than_the_plain_order() {
        let mut random = Philox::new(2, 2);
        let lengths: Vec<usize> = (0..400)
            .map(|_| (16.0 * 2f32.powf(7.0 * random.uniform())) as usize)
            .collect();
        let order = epoch_order(400, 1, 0);
        let plain = padded_share(&lengths, &batches(&order, 16, false));
        let bounds = [32, 64, 128, 256, 512, 1024];
        let cut = padded_share(&lengths, &length_buckets(&lengths, &order, &bounds, 16));
        assert!(cut < plain / 2.0, "{cut} of {plain}");
        assert_eq!(padded_share(&[], &[]), 0.0);
    }
}

//! Batches of clouds of similar length, which need little padding.

/// Cuts an epoch's `order` into batches of records of similar length.
///
/// `bounds` must ascend. A record goes into the first bucket whose bound is at least its length (`lengths[record]`); if
/// it is longer than all bounds, it goes into one more bucket. As soon as a bucket has `size` records, they become the
/// next batch. At the end of the order, the records left in each bucket become a batch, the bucket of the shortest
/// clouds first.
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

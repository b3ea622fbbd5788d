//! Batches of clouds of similar length, which need little padding.

use anyhow::{Context, Result};
use canopy_data::{Dataset, Purpose};
use rayon::prelude::*;

use super::order::epoch_order;
use super::sample::Points;

/// The upper bounds of the buckets' lengths. Each is twice the one before, so in a bucket between two bounds, less than
/// half of each batch is padding.
const BOUNDS: [usize; 11] = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// With [`Points::All`], reads every cloud once and returns for each record how many of its points the network sees.
/// With [`Points::Fixed`], returns an empty list.
///
/// # Errors
/// Returns an error that names the record if its cloud cannot be read.
pub fn lengths(data: &Dataset, points: Points) -> Result<Vec<usize>> {
    let Points::All { max } = points else {
        return Ok(Vec::new());
    };
    let of = |r: usize| {
        let record = &data.records[r];
        let cloud = data
            .cloud(r)
            .with_context(|| format!("tree {} ({})", record.tree, record.source))?;
        Ok(cloud.len().min(max))
    };
    (0..data.len()).into_par_iter().map(of).collect()
}

/// The batches of epoch `epoch` over `records`, each of up to `size` clouds of similar length, in random order. They
/// are a function of the arguments alone, and every epoch has equally many. Batch normalisation needs two clouds, so
/// the records that are left alone in their buckets are put together into batches. A record that is still alone is
/// dropped.
pub fn epoch_by_length(
    records: &[usize],
    lengths: &[usize],
    size: usize,
    (seed, epoch): (u64, u64),
) -> Vec<Vec<usize>> {
    let order = epoch_order(records.len(), seed, epoch);
    let order: Vec<usize> = order.into_iter().map(|i| records[i]).collect();
    let cut = length_buckets(lengths, &order, &BOUNDS, size);
    let (single, mut batches): (Vec<_>, Vec<_>) = cut.into_iter().partition(|batch| batch.len() == 1);
    let together = single.concat();
    batches.extend(
        together
            .chunks(size)
            .filter(|batch| batch.len() > 1)
            .map(<[usize]>::to_vec),
    );
    Purpose::BatchOrder.stream(seed, epoch).shuffle(&mut batches);
    batches
}

/// Batches of up to `size` clouds of similar length, as indices into `lengths`. No cloud is dropped: evaluation needs
/// all.
pub fn batches_by_length(lengths: &[usize], size: usize) -> Vec<Vec<usize>> {
    let order: Vec<usize> = (0..lengths.len()).collect();
    length_buckets(lengths, &order, &BOUNDS, size)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use canopy_data::Philox;

    #[test]
    fn epochs_by_length_differ_in_order_and_have_the_same_number_of_batches() {
        let mut random = Philox::new(3, 3);
        let lengths: Vec<usize> = (0..200).map(|_| 1 + random.below(5000)).collect();
        let records: Vec<usize> = (0..200).filter(|r| r % 3 > 0).collect();
        let of = |epoch| epoch_by_length(&records, &lengths, 8, (5, epoch));
        assert_eq!(of(1), of(1));
        let mut firsts = Vec::new();
        for epoch in 0..6 {
            let batches = of(epoch);
            assert_eq!(batches.len(), of(0).len());
            assert!(batches.iter().all(|batch| (2..=8).contains(&batch.len())));
            let mut all = batches.concat();
            all.sort_unstable();
            assert!(all.len() >= records.len() - 1 && all.iter().all(|r| records.contains(r)));
            all.dedup();
            assert_eq!(all.len(), batches.concat().len(), "a record is in two batches");
            firsts.push(batches[0].clone());
        }
        firsts.dedup();
        assert!(firsts.len() > 3, "{firsts:?}");
        // Three buckets of one record each: one batch.
        assert_eq!(epoch_by_length(&[0, 1, 2], &[10, 100, 1000], 8, (5, 0)).len(), 1);
    }
}

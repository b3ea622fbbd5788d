//! Lists with parts of the same length, as the libraries expect them, whereas our [`chunk`]s may differ by one number.

use std::ops::Range;

use super::chunk;

/// The chunks of all ranks, in the order of the ranks.
pub(super) fn chunks(length: usize, world_size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..world_size).map(move |rank| chunk(length, rank, world_size))
}

/// Returns `data` with a part of the same length for each rank, as libraries expect them: each [`chunk`], filled with zeros. A
/// part has at least one number.
pub(super) fn padded(data: &[f32], world_size: usize) -> Vec<f32> {
    let longest = data.len().div_ceil(world_size).max(1);
    let mut padded = vec![0.0; longest * world_size];
    for (into, range) in padded
        .chunks_exact_mut(longest)
        .zip(chunks(data.len(), world_size))
    {
        into[..range.len()].copy_from_slice(&data[range]);
    }
    padded
}

//! Lesson 03: data loaders. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson03` checks the lesson, `cargo test -p lesson03 3.2` one exercise. `cargo course hint 3.2` shows
//! a hint.

use std::{
    collections::{HashMap, HashSet},
    panic,
    sync::{Mutex, mpsc},
    thread,
};

use anyhow::{Result, anyhow};
use candle_core::{Device, Tensor, bail};
use canopy::loader::Batch;
use canopy_data::{Philox, sample::Subsample};

/// Returns the records 0..n in random order, each once; the same arguments give the same order.
///
/// Every order is equally likely, and independent of the orders of other seeds and epochs. A late epoch takes no longer
/// than the first.
pub fn epoch_order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    todo!("3.1: 0..n, shuffled")
}

/// Returns the indices of the points to keep, each once; the same `seed` gives the same ones.
///
/// - `Random(n)`: every set of n points is equally likely.
/// - `Voxel(edge)`: one point of each cube that contains points, with ascending indices. Along an axis, cube k contains
///   each coordinate c with k·edge ≤ c < (k + 1)·edge.
/// - `Farthest(n)`: every point can be the first. Next is the point with the greatest distance to its nearest chosen
///   point; of equals, the lower index.
///
/// If there are at most n points, all are kept, in any order. There may be no points, and n may be 0.
pub fn subsample(points: &[[f32; 3]], what: Subsample, seed: u64) -> Vec<usize> {
    match what {
        Subsample::Random(n) => todo!("3.2: n of the points at random"),
        Subsample::Voxel(edge) => todo!("3.2: one point of each cube"),
        Subsample::Farthest(n) => todo!("3.2: the farthest point, n times"),
    }
}

/// Returns points `[clouds, longest, 3]` and a mask `[clouds, longest]`, both f32, on `device`.
///
/// A row contains the points of its cloud in order (mask 1), then padding at the origin (mask 0). Returns an error for
/// a cloud without points or a batch without clouds.
pub fn collate_ragged(clouds: &[Vec<[f32; 3]>], device: &Device) -> candle_core::Result<(Tensor, Tensor)> {
    todo!("3.3: pad to the longest, and mask the padding")
}

/// Visits the records in `order`, and batches those of similar length.
///
/// A record goes into the first bucket whose bound is at least its length, or into one more. A bucket with `size`
/// records becomes the next batch. At the end, the rest of each bucket is a batch, in the order of the bounds.
pub fn length_buckets(lengths: &[usize], order: &[usize], bounds: &[usize], size: usize) -> Vec<Vec<usize>> {
    todo!("3.4: fill buckets, emit the full ones")
}

/// Calls `make` once per number below `count`, on `workers` new threads in parallel, and `take` with each result, in
/// this order.
///
/// At most `ahead` results are started and not yet passed to `take`. Workers go on while `take` runs. An `Err` of
/// `make` is passed on; a panic becomes one. It ends, with all its threads, once `take` returns false.
pub fn prefetched(
    count: usize,
    workers: usize,
    ahead: usize,
    make: &(dyn Fn(usize) -> Result<Batch> + Sync),
    take: &mut dyn FnMut(Result<Batch>) -> bool,
) {
    todo!("3.5: worker threads, and one place that keeps the order")
}

/// Returns the group of each record i, a scan of tree `trees[i]` on plot `plots[i]`; "" is an unknown plot.
///
/// Records of the same tree or of the same plot are one group: groups are connected components, numbered from 0 in the
/// order of their first records. A tree and a plot may have the same name.
pub fn together(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    todo!("3.6: records that share a tree or a plot")
}

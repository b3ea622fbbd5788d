//! Lesson 03: data loaders. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson03` checks the lesson, `cargo test -p lesson03 3.2` one exercise. `cargo course hint 3.2` shows a
//! hint.

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

/// The order in which epoch `epoch` visits the records 0 to n − 1: each once, in random order. `n` may be 0.
///
/// It depends only on the arguments. Every order is equally likely, and independent of all others, such as those of the
/// next seed or epoch. A late epoch takes no longer than the first.
pub fn epoch_order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    todo!("3.1: 0..n, shuffled")
}

/// Indices of points, each once; the same `seed` gives the same ones. If there are no more than n points, all are kept,
/// in any order. There may be no points, and n may be 0.
///
/// - `Random(n)`: every set of n points is equally likely.
/// - `Voxel(edge)`: one point of each cube that contains points, with ascending indices. Cube k along an axis has
///   k·edge ≤ c < (k + 1)·edge, where |c| ≤ 10⁷ and edge ≥ 0.001.
/// - `Farthest(n)`: every point can be the first. The distance of each next one to the nearest chosen point is the
///   greatest; of equals take the lower index, even if that distance is 0.
pub fn subsample(points: &[[f32; 3]], what: Subsample, seed: u64) -> Vec<usize> {
    match what {
        Subsample::Random(n) => todo!("3.2: n of the points at random"),
        Subsample::Voxel(edge) => todo!("3.2: one point of each cube"),
        Subsample::Farthest(n) => todo!("3.2: the farthest point, n times"),
    }
}

/// A batch of clouds: points `[clouds, longest, 3]` and mask `[clouds, longest]`, both f32, on `device`.
///
/// A row has the points of its cloud, unchanged and in their order, followed by padding at the origin. The mask is 1
/// for a point and 0 for padding. Returns an error for a cloud without points, and for a batch without clouds.
pub fn collate_ragged(clouds: &[Vec<[f32; 3]>], device: &Device) -> candle_core::Result<(Tensor, Tensor)> {
    todo!("3.3: pad to the longest, and mask the padding")
}

/// Batches of records of similar length, from `order`, which may leave out some records.
///
/// A record goes into the first bucket whose bound is at least its length, or into one more. As soon as a bucket has
/// `size` records, they are the next batch, in their order. At the end, the rest of each bucket is a batch, the shortest
/// first. `bounds` ascend and may be empty.
pub fn length_buckets(lengths: &[usize], order: &[usize], bounds: &[usize], size: usize) -> Vec<Vec<usize>> {
    todo!("3.4: fill buckets, emit the full ones")
}

/// Calls `make` once for each number below `count`, on `workers` new threads in parallel, and passes the results to
/// `take` in this order, on the calling thread.
///
/// At most `ahead` results are started and not yet passed to `take`. Workers go on while `take` runs, as far as `ahead`
/// allows. An `Err` of `make` is passed on in its place, with its message. A panic of `make` becomes an `Err`. It ends
/// when `take` has returned false; then all its threads have ended.
pub fn prefetched(
    count: usize,
    workers: usize,
    ahead: usize,
    make: &(dyn Fn(usize) -> Result<Batch> + Sync),
    take: &mut dyn FnMut(Result<Batch>) -> bool,
) {
    todo!("3.5: worker threads, and one place that keeps the order")
}

/// The group of each record i, a scan of tree `trees[i]` on plot `plots[i]`; "" is an unknown plot.
///
/// Records of the same tree, or of the same plot, are one group, also over several steps: groups are connected
/// components. They are numbered from 0, in the order of their first records. A tree and a plot may have the same name.
/// There may be no record.
pub fn together(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    todo!("3.6: records that share a tree or a plot")
}

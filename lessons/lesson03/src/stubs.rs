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

/// The order in which epoch `epoch` visits the records 0, 1, … n − 1: each once, in random order. `n` may be 0.
///
/// The order depends only on `n`, `seed` and `epoch`, so that an interrupted epoch can be resumed. Every order is
/// equally likely, as far as `Philox` allows. Each pair of seed and epoch, however large, has an order that is
/// independent of all others: seed 5 in epoch 1 has nothing to do with seed 6 in epoch 0. A late epoch takes no longer
/// than the first.
/// `Philox::new(seed, stream)` gives independent random numbers for every pair of the two; `below(n)` draws from 0..n.
pub fn epoch_order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    todo!("3.1: 0..n, shuffled")
}

/// The indices of the points that are kept of a cloud. No index occurs twice, and the same `seed` gives the same
/// indices in the same order. Coordinates are between −10⁷ and 10⁷; f32 is precise enough. The cloud may be empty, and
/// n may be 0.
///
/// - `Random(n)`: n of the points, in any order. Every set of n points is equally likely. If there are no more than n
///   points, all of them.
/// - `Voxel(edge)`: one point, of your choice, of each cube that contains points, with ascending indices. Space is
///   divided into cubes of `edge` metres (at least 0.001), with a corner of one cube at the origin. Cube k along an
///   axis goes from k·edge (included) to (k + 1)·edge (excluded).
/// - `Farthest(n)`: the first point is chosen by `seed`, and every point can be the first. Each next one is the point
///   whose distance to the nearest chosen point is the greatest; of equally far points the one with the lower index,
///   even if that distance is 0. They are in the order in which they were chosen. If there are no more than n points,
///   all of them, in any order.
pub fn subsample(points: &[[f32; 3]], what: Subsample, seed: u64) -> Vec<usize> {
    match what {
        Subsample::Random(n) => todo!("3.2: n of the points at random"),
        Subsample::Voxel(edge) => todo!("3.2: one point of each cube"),
        Subsample::Farthest(n) => todo!("3.2: the farthest point, n times"),
    }
}

/// A batch of clouds of different lengths: points `[clouds, longest, 3]` and mask `[clouds, longest]`, both f32 and on
/// `device`.
///
/// The points of a cloud, all finite, come first in its row, unchanged and in their order, followed by padding at the
/// origin. The mask is 1 for a point, wherever it is, and 0 for padding. Returns an error for a cloud without points,
/// and for a batch without clouds.
pub fn collate_ragged(clouds: &[Vec<[f32; 3]>], device: &Device) -> candle_core::Result<(Tensor, Tensor)> {
    todo!("3.3: pad to the longest, and mask the padding")
}

/// Divides the `order` of an epoch into batches of records of similar length, so that little is padded.
///
/// Visit the records as `order` lists them; it may leave out some, but lists none twice. Record r, with `lengths[r]`
/// points, goes into the first bucket whose bound is at least its length; a record longer than all bounds goes into an
/// additional last bucket. As soon as a bucket has `size` records, they are the next batch, in the order in which they
/// came, and the bucket is empty again. At the end, the rest of each bucket is a batch as well, beginning with the
/// bucket of the shortest records. No batch is empty. `bounds` are strictly ascending and may be empty; `size` is from
/// 1 to some thousand.
pub fn length_buckets(lengths: &[usize], order: &[usize], bounds: &[usize], size: usize) -> Vec<Vec<usize>> {
    todo!("3.4: fill buckets, emit the full ones")
}

/// Calls `make(0)`, `make(1)`, … `make(count − 1)` on `workers` new threads in parallel, and passes each result
/// to `take` in this order, on the calling thread, until there are no more or `take` returns false.
///
/// Call `make` once for each number. `count` may be 0. At most `ahead` results may be started and not yet passed to
/// `take`: `make(i)` does not start before the call of `take` for i − ahead has begun. Workers go on while `take` runs:
/// during the call for result i they make all results up to i + ahead − 1. An `Err` of `make` is passed to `take` in
/// its place, with its message (`context` may add to it), and the later results follow. A panic of `make` becomes an
/// `Err` in its place, and the later results follow. When `take` has returned false for result i, it is not called
/// again, and no number above i + ahead is made; those up to it may be. When `prefetched` returns, all its threads have
/// ended. `workers` and `ahead` are from 1 to some thousand, and `ahead` is at least `workers`. `take` does not panic.
pub fn prefetched(
    count: usize,
    workers: usize,
    ahead: usize,
    make: &(dyn Fn(usize) -> Result<Batch> + Sync),
    take: &mut dyn FnMut(Result<Batch>) -> bool,
) {
    todo!("3.5: worker threads, and one place that keeps the order")
}

/// The group of each record, for a split without leaks: a whole group is either in the training set or in the test
/// set.
///
/// Record i is a scan of the tree `trees[i]`, never "", on the plot `plots[i]`; "" is an unknown plot. Both lists are
/// equally long. Records of the same tree are in the same group, and so are records of the same plot. This also holds
/// over several steps: groups are connected components. If one tree was scanned from plot p and from plot q, all
/// records of p and q are one group. Groups are numbered from 0, in the order of their first records. A tree and a plot
/// may have the same name. There may be no record, and at most a few thousand: quadratic time and recursion are fine.
pub fn together(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    todo!("3.6: records that share a tree or a plot")
}

//! Lesson 03: data loaders. Put your code where a `todo!` stands; the comment above says what is asked.
//!
//! `cargo test -p lesson03` checks all, `cargo test -p lesson03 3.2` one exercise. `cargo course hint 3.2` helps.

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

/// In which order epoch `epoch` visits the records 0, 1, … n − 1: each once, in random order.
///
/// The order is a function of `n`, `seed` and `epoch` and of nothing else, so that an epoch that was broken off goes on
/// where it was. Every order is as likely as any other. Another epoch has another order, and so has another seed: seed 5 in
/// epoch 1 has nothing to do with seed 6 in epoch 0. `Philox::new(seed, stream)` gives independent random numbers for
/// every pair of the two; `below(n)` draws from 0..n.
pub fn epoch_order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    todo!("3.1: 0..n, shuffled")
}

/// Indices of the points that are left of a cloud, no index twice; the same for the same `seed`. Coordinates are finite.
///
/// `Random(n)`: n of the points, each as likely as any other, in any order; all of them where there are no more than n.
/// `Voxel(edge)`: space is cut into cubes of `edge` metres, one corner of one of them at the origin; of each cube that
/// holds points, one point, whichever you like. Cube k along an axis goes from k·edge up to (k + 1)·edge, whose end is the next
/// cube's. The indices ascend.
/// `Farthest(n)`: the first by `seed`, any point; each next is the point whose distance to the nearest of those chosen is
/// the greatest; of points equally far the one with the lower index, also where that distance is 0. In the order of their
/// choice; all points where there are no more than n.
pub fn subsample(points: &[[f32; 3]], what: Subsample, seed: u64) -> Vec<usize> {
    match what {
        Subsample::Random(n) => todo!("3.2: n of the points at random"),
        Subsample::Voxel(edge) => todo!("3.2: a point of each cube"),
        Subsample::Farthest(n) => todo!("3.2: the farthest point, n times"),
    }
}

/// Clouds of different lengths side by side: points `[clouds, longest, 3]` and mask `[clouds, longest]`, both f32.
///
/// Each cloud's points come first in its row, in their order; what is behind them is padding, at the origin. The mask is 1
/// where a point is and 0 where padding is. A cloud without points is an error, and so is a batch without clouds.
pub fn collate_ragged(clouds: &[Vec<[f32; 3]>], device: &Device) -> candle_core::Result<(Tensor, Tensor)> {
    todo!("3.3: as wide as the longest, and what is real")
}

/// Cuts an epoch's `order` into batches of records of about one length, so that little is padded.
///
/// Walk through the order. Record r, `lengths[r]` points long, goes into the first bucket whose bound is at least its
/// length; one longer than all bounds into a bucket of its own kind behind the last. As soon as a bucket has `size` records,
/// they are the next batch, in the order in which they came, and the bucket is empty again. At the end what is left in each
/// bucket is a batch as well, the bucket of the shortest first. No batch is empty. `bounds` ascend, `size` is at least 1.
pub fn length_buckets(lengths: &[usize], order: &[usize], bounds: &[usize], size: usize) -> Vec<Vec<usize>> {
    todo!("3.4: fill buckets, empty the full ones")
}

/// Makes `make(0)`, `make(1)`, … `make(count − 1)` on `workers` threads at a time, and gives each result to `take` in this
/// order, on the thread that called, until there are no more or `take` says false.
///
/// Ask for each once. At most `ahead` may be begun and not yet given to `take`: `make(i)` does not begin before `take` has
/// been called for i − ahead. An `Err` of `make` is given to `take` in its place, and what comes after follows; a panic of
/// `make` becomes an `Err` in its place. When `prefetched` returns, all its threads have ended. `workers` and `ahead` are
/// at least 1, and `ahead` is at least `workers`.
pub fn prefetched(
    count: usize,
    workers: usize,
    ahead: usize,
    make: &(dyn Fn(usize) -> Result<Batch> + Sync),
    take: &mut dyn FnMut(Result<Batch>) -> bool,
) {
    todo!("3.5: threads that make, and one place where order is kept")
}

/// The group of each record, for a split that leaks nothing: whole groups train, and whole groups test.
///
/// Record i is a scan of the tree `trees[i]`, which grew on the plot `plots[i]`; "" says that no plot is known. Records of one
/// tree are in one group. Records of one plot are in one group. And so is whatever hangs together over several steps: if
/// one tree was scanned from plot p and from plot q, then all of p and q are one group. Groups are numbered from 0, in the
/// order of their first record. A tree and a plot may have the same name.
pub fn together(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    todo!("3.6: whatever shares a tree or a plot")
}

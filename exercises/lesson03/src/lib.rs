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

/// Returns the records 0..n in random order, each once, as a function of the arguments.
///
/// Every order is equally likely, and independent of the orders of other seeds and epochs.
pub fn epoch_order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    todo!("3.1: 0..n, shuffled")
}

/// Returns the indices to keep, each once, determined by `seed`:
///
/// - `Random(n)`: every set of n points is equally likely.
/// - `Voxel(edge)`: one point of each cube, indices ascending. Coordinate c is in cube `⌊c/edge⌋`.
/// - `Farthest(n)`: a random first point, then always the one farthest from its nearest chosen point; of equals, the
///   first.
///
/// Of at most n points, all are kept.
pub fn subsample(points: &[[f32; 3]], what: Subsample, seed: u64) -> Vec<usize> {
    match what {
        Subsample::Random(n) => todo!("3.2: n of the points at random"),
        Subsample::Voxel(edge) => todo!("3.2: one point of each cube"),
        Subsample::Farthest(n) => todo!("3.2: the farthest point, n times"),
    }
}

/// Returns points `[clouds, longest, 3]` and a mask `[clouds, longest]`, both f32.
///
/// A row has its cloud's points (mask 1), then zeros (mask 0). No cloud, or one without points, is an error.
pub fn collate_ragged(clouds: &[Vec<[f32; 3]>], device: &Device) -> candle_core::Result<(Tensor, Tensor)> {
    todo!("3.3: pad to the longest, and mask the padding")
}

/// Puts each record of `order` into the first bucket with `bound >= length`, or into a last one.
///
/// A bucket of `size` records is the next batch. The rests follow, by ascending bound.
pub fn length_buckets(lengths: &[usize], order: &[usize], bounds: &[usize], size: usize) -> Vec<Vec<usize>> {
    todo!("3.4: fill buckets, emit the full ones")
}

/// Calls `make` once per number below `count`, on `workers` new threads in parallel, and `take` with each result, in
/// order.
///
/// Result i is started only after the call of `take` with result `i − ahead` has begun; workers go on while `take`
/// runs. Passes on an `Err`, and a panic as one. Once `take` returns false, ends all threads and returns.
pub fn prefetched(
    count: usize,
    workers: usize,
    ahead: usize,
    make: &(dyn Fn(usize) -> Result<Batch> + Sync),
    take: &mut dyn FnMut(Result<Batch>) -> bool,
) {
    todo!("3.5: worker threads, and one place that keeps the order")
}

/// Returns each record's group. Groups are the connected components of records of the same tree or plot, numbered from
/// 0 by their first records. Plot "" is unknown and connects nothing.
pub fn together(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    todo!("3.6: records that share a tree or a plot")
}

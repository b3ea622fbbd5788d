//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use anyhow::Result;
use candle_core::{DType, Tensor};
use canopy::parallel::{BucketSizes, Cost, Link, chunk};
use grader::{Mistake, wrong};

use crate::{Lesson08, REFERENCE, answer_helpers::*};

mod average_gradients;
mod buckets;
mod place_from;
mod ring_reduce_scatter;
mod ring_seconds;
mod share_of_epoch;
mod weak_efficiency;

pub const MISTAKES: &[&[Mistake<Lesson08>]] = &[
    share_of_epoch::MISTAKES,
    ring_reduce_scatter::MISTAKES,
    buckets::MISTAKES,
    average_gradients::MISTAKES,
    place_from::MISTAKES,
    weak_efficiency::MISTAKES,
    ring_seconds::MISTAKES,
];

/// Rank 0 sums for all, as a parameter server does.
fn over_rank_0(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let p = link.world_size();
    if link.rank() != 0 {
        link.send(0, data)?;
        return link.receive(0, data);
    }
    let mut incoming = vec![0.0; data.len()];
    for from in 1..p {
        link.receive(from, &mut incoming)?;
        for (sum, value) in data.iter_mut().zip(&incoming) {
            *sum += value;
        }
    }
    (1..p).try_for_each(|to| link.send(to, data))
}

/// Chunks of one length: what does not divide is nobody's.
fn even(length: usize, rank: usize, p: usize) -> std::ops::Range<usize> {
    let each = length / p;
    rank * each..(rank + 1) * each
}

/// Chunks of one length, the last one with the rest.
fn rest_last(length: usize, rank: usize, p: usize) -> std::ops::Range<usize> {
    let own = even(length, rank, p);
    own.start..if rank + 1 == p { length } else { own.end }
}

/// The first chunks are the longer ones.
fn rest_first(length: usize, rank: usize, p: usize) -> std::ops::Range<usize> {
    let start = |rank: usize| rank * (length / p) + rank.min(length % p);
    start(rank)..start(rank + 1)
}

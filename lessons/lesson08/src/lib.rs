//! Lesson 08: data parallelism.

// The lines of the hints are as they are shown there.
#[rustfmt::skip]
mod answers;
mod average;
mod bucket;
mod cost;
mod efficiency;
mod place;
mod right;
mod ring;
mod share;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use anyhow::Result;
use candle_core::Tensor;
use canopy::parallel::{self, Bucket, BucketSizes, Collective, Cost, Kind, Link, Place};

/// Looks up a variable of the environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

grader::contract! {
    pub struct Lesson08 of exercise08 with share, ring, bucket, average, place, efficiency, cost;
    "8.1" share_of_epoch: fn(&[usize], usize, usize, bool) -> Vec<usize> = parallel::share_of_epoch;
    "8.2" ring_reduce_scatter: fn(&dyn Link, &mut [f32]) -> Result<()> = parallel::ring_reduce_scatter;
    "8.2" ring_all_gather: fn(&dyn Link, &mut [f32]) -> Result<()> = parallel::ring_all_gather;
    "8.3" buckets: fn(&[(usize, Kind)], BucketSizes) -> Vec<Bucket> = parallel::buckets;
    "8.4" average_gradients: fn(&dyn Collective, &mut [Tensor]) -> Result<()> = parallel::average_gradients;
    "8.5" place_from: fn(Variables) -> Result<Place> = parallel::place_from;
    "8.5" device_for: fn(&Place, usize) -> Result<String> = parallel::device_for;
    "8.6" weak_efficiency: fn(f64, f64) -> f64 = parallel::weak_efficiency;
    "8.6" strong_efficiency: fn(f64, f64, usize) -> f64 = parallel::strong_efficiency;
    "8.7" ring_seconds: fn(usize, f64, Cost) -> f64 = parallel::ring_seconds;
    "8.7" tree_seconds: fn(usize, f64, Cost) -> f64 = parallel::tree_seconds;
}

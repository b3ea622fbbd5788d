//! Lesson 03: data loaders.

#[allow(clippy::unwrap_used, reason = "as a student writes it")]
mod answers;
mod buckets;
mod order;
mod prefetch;
mod ragged;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;
mod subsample;
mod together;

use anyhow::Result;
use candle_core::{Device, Tensor};
use canopy::loader::{self, Batch};
use canopy_data::sample::{self, Subsample};

/// Points and mask.
pub type Batched = candle_core::Result<(Tensor, Tensor)>;
/// Makes a batch; on any thread.
pub type Make<'a> = &'a (dyn Fn(usize) -> Result<Batch> + Sync);
/// Takes a batch; false: enough.
pub type Take<'a> = &'a mut dyn FnMut(Result<Batch>) -> bool;

grader::contract! {
    pub struct Lesson03 of exercise03 with order, subsample, ragged, buckets, prefetch, together;
    "3.1" epoch_order: fn(usize, u64, u64) -> Vec<usize> = loader::epoch_order;
    // The checks ask for nothing that is an error.
    "3.2" subsample: fn(&[[f32; 3]], Subsample, u64) -> Vec<usize>
        = |points, what, seed| sample::subsample(points, what, seed).unwrap_or_default();
    "3.3" collate_ragged: fn(&[Vec<[f32; 3]>], &Device) -> Batched = loader::collate_ragged;
    "3.4" length_buckets: fn(&[usize], &[usize], &[usize], usize) -> Vec<Vec<usize>> = loader::length_buckets;
    "3.5" prefetched: fn(usize, usize, usize, Make, Take)
        = |count, workers, ahead, make, take| loader::prefetched(count, workers, ahead, make, take);
    "3.6" together: fn(&[&str], &[&str]) -> Vec<usize> = canopy_data::split::together;
}

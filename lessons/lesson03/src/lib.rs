//! Lesson 03: data loaders.

mod checks;
mod mistakes;
mod parts;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use anyhow::Result;
use candle_core::{Device, Tensor};
use canopy::loader::{self, Batch};
use canopy_data::{
    sample::{self, Subsample},
    split,
};
use grader::Lesson;

/// Makes a batch; on any thread.
pub type Make<'a> = &'a (dyn Fn(usize) -> Result<Batch> + Sync);
/// Takes a batch; false: enough.
pub type Take<'a> = &'a mut dyn FnMut(Result<Batch>) -> bool;

/// What the lesson asks for; `stubs.rs` says it in words.
#[allow(clippy::type_complexity, reason = "a signature is clearest written out")]
#[derive(Clone, Copy)]
pub struct Lesson03 {
    /// 3.1
    pub epoch_order: fn(usize, u64, u64) -> Vec<usize>,
    /// 3.2
    pub subsample: fn(&[[f32; 3]], Subsample, u64) -> Vec<usize>,
    /// 3.3
    pub collate_ragged: fn(&[Vec<[f32; 3]>], &Device) -> candle_core::Result<(Tensor, Tensor)>,
    /// 3.4
    pub length_buckets: fn(&[usize], &[usize], &[usize], usize) -> Vec<Vec<usize>>,
    /// 3.5
    pub prefetched: fn(usize, usize, usize, Make, Take),
    /// 3.6
    pub together: fn(&[&str], &[&str]) -> Vec<usize>,
}

/// The functions of a crate or module that has them all.
macro_rules! answers_of {
    ($from:ident) => {
        Lesson03 {
            epoch_order: $from::epoch_order,
            subsample: $from::subsample,
            collate_ragged: $from::collate_ragged,
            length_buckets: $from::length_buckets,
            prefetched: $from::prefetched,
            together: $from::together,
        }
    };
}

/// What the student wrote.
#[cfg(feature = "student")]
pub const STUDENT: Lesson03 = answers_of!(exercise03);

/// canopy's own.
pub const REFERENCE: Lesson03 = Lesson03 {
    epoch_order: loader::epoch_order,
    // The checks ask for nothing that is an error.
    subsample: |points, what, seed| sample::subsample(points, what, seed).unwrap_or_default(),
    collate_ragged: loader::collate_ragged,
    length_buckets: loader::length_buckets,
    prefetched: |count, workers, ahead, make, take| loader::prefetched(count, workers, ahead, make, take),
    together: split::together,
};

/// The whole lesson.
pub static LESSON: Lesson<Lesson03> = Lesson {
    manifest: include_str!("../lesson.toml"),
    stubs_text: include_str!("stubs.rs"),
    stubs: answers_of!(stubs),
    reference: REFERENCE,
    checks: checks::CHECKS,
    mistakes: mistakes::MISTAKES,
    right: right::RIGHT,
};

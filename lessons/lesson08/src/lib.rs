//! Lesson 08: data parallelism.

mod checks;
mod mistakes;
mod net;
mod parts;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use anyhow::Result;
use candle_core::Tensor;
use canopy::parallel::{self, Bucket, BucketSizes, Collective, Cost, Kind, Link, Place};
use grader::Lesson;

/// Looks up a variable of the environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What the lesson asks for; `stubs.rs` says it in words.
#[allow(clippy::type_complexity, reason = "a signature is clearest written out")]
#[derive(Clone, Copy)]
pub struct Lesson08 {
    /// 8.1
    pub share_of_epoch: fn(&[usize], usize, usize, bool) -> Vec<usize>,
    /// 8.2
    pub ring_reduce_scatter: fn(&dyn Link, &mut [f32]) -> Result<()>,
    /// 8.2
    pub ring_all_gather: fn(&dyn Link, &mut [f32]) -> Result<()>,
    /// 8.3
    pub buckets: fn(&[(usize, Kind)], BucketSizes) -> Vec<Bucket>,
    /// 8.4
    pub average_gradients: fn(&dyn Collective, &mut [Tensor]) -> Result<()>,
    /// 8.5
    pub place_from: fn(Variables) -> Result<Place>,
    /// 8.5
    pub device_for: fn(&Place, usize) -> Result<String>,
    /// 8.6
    pub weak_efficiency: fn(f64, f64) -> f64,
    /// 8.6
    pub strong_efficiency: fn(f64, f64, usize) -> f64,
    /// 8.7
    pub ring_seconds: fn(usize, f64, Cost) -> f64,
    /// 8.7
    pub tree_seconds: fn(usize, f64, Cost) -> f64,
}

/// The functions of a crate or module that has them all.
macro_rules! answers_of {
    ($($from:ident)::+) => {
        Lesson08 {
            share_of_epoch: $($from)::+::share_of_epoch,
            ring_reduce_scatter: $($from)::+::ring_reduce_scatter,
            ring_all_gather: $($from)::+::ring_all_gather,
            buckets: $($from)::+::buckets,
            average_gradients: $($from)::+::average_gradients,
            place_from: $($from)::+::place_from,
            device_for: $($from)::+::device_for,
            weak_efficiency: $($from)::+::weak_efficiency,
            strong_efficiency: $($from)::+::strong_efficiency,
            ring_seconds: $($from)::+::ring_seconds,
            tree_seconds: $($from)::+::tree_seconds,
        }
    };
}

/// What the student wrote.
#[cfg(feature = "student")]
pub const STUDENT: Lesson08 = answers_of!(exercise08);

/// canopy's own.
pub const REFERENCE: Lesson08 = answers_of!(parallel);

/// The whole lesson.
pub static LESSON: Lesson<Lesson08> = Lesson {
    manifest: include_str!("../lesson.toml"),
    stubs_text: include_str!("stubs.rs"),
    stubs: answers_of!(stubs),
    reference: REFERENCE,
    checks: checks::CHECKS,
    mistakes: mistakes::MISTAKES,
    right: right::RIGHT,
};

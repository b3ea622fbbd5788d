//! Lesson 05: profiling and monitoring.

mod checks;
mod device;
mod mistakes;
mod parts;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use candle_core::Result;
use canopy::profile::{self, Amdahl, Machine, MatMul, Pattern, Roof, Span, Stream, Total};
use grader::Lesson;

/// Gives the device something to do.
pub type Work<'a> = &'a mut dyn FnMut() -> Result<()>;

/// What the lesson asks for; `stubs.rs` says it in words.
#[derive(Clone, Copy)]
pub struct Lesson05 {
    /// 5.1
    pub totals: fn(&[Span]) -> Vec<Total>,
    /// 5.2
    pub time_device: fn(&dyn Stream, usize, usize, Work) -> Result<Vec<u64>>,
    /// 5.3
    pub name_pattern: fn(&[Span], u64) -> Option<Pattern>,
    /// 5.4
    pub amdahl: fn(f64, f64) -> Amdahl,
    /// 5.5
    pub copy_share: fn(&[Vec<String>]) -> Option<f64>,
    /// 5.6
    pub matmul_roof: fn(&MatMul, &Machine) -> Roof,
}

/// The functions of a crate or module that has them all.
macro_rules! answers_of {
    ($from:ident) => {
        Lesson05 {
            totals: $from::totals,
            time_device: $from::time_device,
            name_pattern: $from::name_pattern,
            amdahl: $from::amdahl,
            copy_share: $from::copy_share,
            matmul_roof: $from::matmul_roof,
        }
    };
}

/// What the student wrote.
#[cfg(feature = "student")]
pub const STUDENT: Lesson05 = answers_of!(exercise05);

/// canopy's own.
pub const REFERENCE: Lesson05 = answers_of!(profile);

/// The whole lesson.
pub static LESSON: Lesson<Lesson05> = Lesson {
    manifest: include_str!("../lesson.toml"),
    stubs_text: include_str!("stubs.rs"),
    stubs: answers_of!(stubs),
    reference: REFERENCE,
    checks: checks::CHECKS,
    mistakes: mistakes::MISTAKES,
    right: right::RIGHT,
};

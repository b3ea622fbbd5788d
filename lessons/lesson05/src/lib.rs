//! Lesson 05: profiling and monitoring.

mod amdahl;
// Beside the lines of the hints, each mistake is a line of its own.
#[rustfmt::skip]
mod answers;
mod copies;
mod pattern;
mod right;
mod roof;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;
mod timing;
mod totals;

use candle_core::Result;
use canopy::profile::{self, Amdahl, KernelRow, Machine, MatMul, Pattern, Roof, Span, Stream, Total};

/// Gives the device something to do.
pub type Work<'a> = &'a mut dyn FnMut() -> Result<()>;

grader::contract! {
    pub struct Lesson05 of exercise05 with totals, timing, pattern, amdahl, copies, roof;
    "5.1" totals: fn(&[Span], &[Option<usize>]) -> Vec<Total> = profile::totals;
    "5.2" time_device: fn(&dyn Stream, usize, usize, Work) -> Result<Vec<u64>> = profile::time_device;
    "5.3" name_pattern: fn(&[Span], u64) -> Option<Pattern> = profile::name_pattern;
    "5.4" amdahl: fn(f64, f64) -> Amdahl = profile::amdahl;
    "5.5" copy_share: fn(&[KernelRow]) -> Option<f64> = profile::copy_share;
    "5.6" matmul_roof: fn(&MatMul, &Machine) -> Roof = profile::matmul_roof;
}

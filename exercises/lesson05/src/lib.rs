//! Lesson 05: profiling and monitoring. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson05` checks the lesson, `cargo test -p lesson05 5.2` one exercise. `cargo course hint 5.2` shows
//! a hint.

use candle_core::Result;
use canopy::profile::{Amdahl, COMPUTE_BOUND, Kind, Machine, MatMul, Pattern, Roof, Span, Stream, Total};

/// The calls, total and self time (`own`) of each name, by descending self time, then name.
///
/// Self time excludes direct children; total time excludes spans within a span of the same name, at any depth. The
/// spans, up to 300,000 in any order, nest only within a lane, where touching ones are side by side; of equal ones, the
/// first in the list is outer.
pub fn totals(spans: &[Span]) -> Vec<Total> {
    todo!("5.1: which span contains which, then sum by name")
}

/// The times of `runs` calls of `work`, in order, in nanoseconds of `device.now()`, after `warm_up` untimed calls.
///
/// Each time starts on an idle device, before `work`, and includes exactly one wait, after `work`. Return the first
/// error at once.
pub fn time_device(
    device: &dyn Stream,
    warm_up: usize,
    runs: usize,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    todo!("5.2: wait in the right places")
}

/// What limits a run: `Pattern::Compute` if `Kind::Kernel` spans cover more than 0 and at least `COMPUTE_BOUND` (0.8)
/// of `wall`. Their overlapping time counts once.
///
/// Otherwise, it is the greatest of three sums of times over all spans: `Kind::Load` and `Kind::Copy` together
/// (`Pattern::Input`), `Kind::Wait` (`Pattern::Synchronisation`), or `Kind::Launch` (`Pattern::Launch`). If two are
/// equal, the first counts; if all are 0, return None.
pub fn name_pattern(spans: &[Span], wall: u64) -> Option<Pattern> {
    todo!("5.3: is the device busy? If not, what does the host do?")
}

/// Amdahl's law for a part that takes `share` (0 to 1) of a run.
///
/// `limit` is the run's speed-up if the part took no time. `needed` is the part's speed-up that makes the run `wanted`
/// times as fast: Some(1) if `wanted` is 1 or less, otherwise None from `limit`·(1−10⁻⁹) on.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    todo!("5.4: the rest stays; solve for the part")
}

/// The share of copies in the device's busy time, from the `cells` of an `nsys stats` file; None without busy time.
///
/// A line with a cell `Name` or `Operation` starts a table; one of fewer than 3 cells ends it. Sum `Total Time (ns)`
/// over all tables with this column. Names that begin with `[CUDA memcpy` are copies.
pub fn copy_share(cells: &[Vec<String>]) -> Option<f64> {
    todo!("5.5: find the header, find the columns, sum")
}

/// The roofline of `[rows, inner]·[inner, columns]` on `machine`.
///
/// `flops` counts a multiplication and an addition as two. `bytes` counts each factor read once and the result written
/// once, in numbers of `width` bytes. `attainable` is the lower of the arithmetic and memory limits; `memory_bound` is
/// false at the ridge.
pub fn matmul_roof(product: &MatMul, machine: &Machine) -> Roof {
    todo!("5.6: count operations and bytes, then apply the roofline")
}

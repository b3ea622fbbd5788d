//! Lesson 05: profiling and monitoring. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson05` checks the lesson, `cargo test -p lesson05 5.2` one exercise. `cargo course hint 5.2` shows
//! a hint.

use candle_core::Result;
use canopy::profile::{Amdahl, COMPUTE_BOUND, Kind, Machine, MatMul, Pattern, Roof, Span, Stream, Total};

/// The calls, total time and self time (`own`) of each name, sorted by descending self time, then by name.
///
/// The list is in any order. The spans of a lane are nested; those of different lanes do not contain each other.
/// Spans that touch lie next to each other; of two with the same times, the first in the list contains the other.
///
/// A self time is the time of a span minus that of its direct children. `total` leaves out spans that lie, at any
/// depth, within another of their name; these are still calls, and so is a span of no length. Times are exact. With
/// 300,000 spans, nested as deep, recursion overflows the stack, and comparing all pairs takes minutes.
pub fn totals(spans: &[Span]) -> Vec<Total> {
    todo!("5.1: which span contains which, then sum by name")
}

/// The time of each of `runs` calls of `work`, in nanoseconds of `device.now()`, in the order of the runs, after
/// `warm_up` calls that are not timed.
///
/// `work` launches work and returns before it is done; `device.wait()` returns when all launched work is done, also
/// older work. A time goes from before `work` until the device is done, and includes exactly one wait. If `work` or a
/// wait fails, return its error at once.
pub fn time_device(
    device: &dyn Stream,
    warm_up: usize,
    runs: usize,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    todo!("5.2: wait in the right places")
}

/// What a timeline of `wall` nanoseconds is bound by, from its spans in any order and lane.
///
/// If spans of `Kind::Kernel` cover some time, and at least `COMPUTE_BOUND` (0.8) of `wall`, the pattern is
/// `Pattern::Compute`. They may overlap, because a device has several streams; time with several kernels counts once.
///
/// Otherwise it is the greatest of three sums over all spans: `Kind::Load` and `Kind::Copy` together
/// (`Pattern::Input`), `Kind::Wait` (`Pattern::Synchronisation`), and `Kind::Launch` (`Pattern::Launch`). If two are
/// equal, the first of these three counts; if all three are 0, the result is None.
pub fn name_pattern(spans: &[Span], wall: u64) -> Option<Pattern> {
    todo!("5.3: is the device busy? If not, what does the host do?")
}

/// What a faster part of a run can bring, by Amdahl's law. The part takes `share` of the time, from 0 to 1; the whole
/// run should become `wanted` times as fast.
///
/// `limit` is the speed-up of the whole run if the part took no time; it is infinite if the part is the whole run.
/// `needed` is the speed-up that the part needs: Some(1) if `wanted` is 1 or less, otherwise None if it is at the
/// limit or above it. As 1 − `share` is rounded, less than one part in 10⁹ below `limit` is at the limit.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    todo!("5.4: the rest stays; solve for the part")
}

/// The share of copies in the device's busy time, from a CSV file of `nsys stats`, `cells[line][column]`. None if there
/// is no time in any table; Some(0) if there is time, but no copy.
///
/// Each line with a cell `Name` or `Operation` has the column names of a table, in any order. The table ends before a
/// line of fewer than 3 cells or the next column names. Lines outside of tables do not count. A table without `Total
/// Time (ns)` contains sizes: skip it. Each table has its own columns; sum over all of them. Times need not be whole.
///
/// Copies are the rows whose name begins with `[CUDA memcpy`, in any direction; nothing else is a copy, whatever its
/// name.
pub fn copy_share(cells: &[Vec<String>]) -> Option<f64> {
    todo!("5.5: find the header, find the columns, sum")
}

/// The product `[rows, inner] · [inner, columns]` under the roofline of `machine`, which can do `machine.flops`
/// operations and move `machine.bytes` bytes per second.
///
/// `flops` counts a multiplication and an addition as two; there may be more than 10¹². `bytes`: both factors are
/// read once and the result is written once, in numbers of `width` bytes. `intensity` is FLOP per byte, and
/// `attainable`, in FLOP per second, the lower of its arithmetic and its memory limit. `seconds` is the shortest
/// possible time. `memory_bound` is true if only memory is the limit, so not at the ridge.
pub fn matmul_roof(product: &MatMul, machine: &Machine) -> Roof {
    todo!("5.6: count operations and bytes, then apply the roofline")
}

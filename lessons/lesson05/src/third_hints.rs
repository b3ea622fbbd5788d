//! Lesson 05: profiling and monitoring. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson05` checks the lesson, `cargo test -p lesson05 5.2` one exercise. `cargo course hint 5.2` shows a
//! hint.

use candle_core::Result;
use canopy::profile::{Amdahl, Kind, Machine, MatMul, Pattern, Roof, Span, Stream, Total};

/// The calls, total time and self time of each name, in nanoseconds, sorted by descending self time, and by name if
/// equal.
///
/// The spans of one `lane` (a thread) are nested: each lies within another span or next to it. If two spans cover
/// exactly the same time, the first in the list contains the other. The list is in any order. Spans of different
/// lanes do not contain each other; their times are added to the same names.
///
/// The self time (`own`) of a span is its time minus that of its direct children. The `total` of a name is the time
/// of its spans, except that a span adds nothing if it lies, at any depth, within another span of the same name:
/// that time is already counted. It still counts as a call.
///
/// A run can have hundreds of thousands of spans. Comparing each span with every other takes many minutes; sorting
/// them first takes a moment.
pub fn totals(spans: &[Span]) -> Vec<Total> {
    todo!("5.1: which span contains which, then sum by name")
}

/// The time that the device takes for each of `runs` calls of `work`, in nanoseconds of `device.now()`, after
/// `warm_up` calls that are not timed.
///
/// `work` launches work on the device and returns before it is done; `device.wait()` returns when all launched work
/// is done. The device may still be busy with older work when you are called. A time goes from before the call of
/// `work` until the device is done, and includes exactly one wait. If `work` or a wait fails, return the error.
pub fn time_device(
    device: &dyn Stream,
    warm_up: usize,
    runs: usize,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    todo!("5.2: wait in the right places")
}

/// What a timeline of `wall` nanoseconds is bound by; None without evidence.
///
/// The spans are in any order. Those of `Kind::Kernel` run on the device. They may overlap, because a device has
/// several streams; time with several kernels counts once. If kernels cover at least `COMPUTE_BOUND` (0.8) of
/// `wall`, the pattern is `Pattern::Compute`. Otherwise it is what the host spends most of its time on:
/// `Kind::Load` and `Kind::Copy` together (`Pattern::Input`), `Kind::Wait` (`Pattern::Synchronisation`), or
/// `Kind::Launch` (`Pattern::Launch`). If two are equal, the first of these three counts; if all three are 0, the
/// result is None. The host's spans do not overlap each other, and `Kind::Other` does not count.
pub fn name_pattern(spans: &[Span], wall: u64) -> Option<Pattern> {
    todo!("5.3: is the device busy? If not, what does the host do?")
}

/// What a faster part of a run can bring, by Amdahl's law. `share`, from 0 to 1, is the part's share of the time.
/// The whole run should become `wanted` times as fast.
///
/// `limit` is the speed-up of the whole run if the part took no time; infinite if the part is the whole run.
/// `needed` is the speed-up that the part needs; None if no speed-up is enough, and Some(1) if `wanted` is 1 or
/// less.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    todo!("5.4: the rest stays; solve for the part")
}

/// The share of copies in the time that the device was busy, from the cells of a profiler's CSV file,
/// `cells[line][column]`. None if there is no table of times, or no time in it.
///
/// A table begins with the line of its column names, and ends before a line of fewer than 3 cells or before the
/// next line of column names.
///
/// - nsys: `Time (%)`, `Total Time (ns)`, …, and `Name` or `Operation`. A table without `Time (%)` contains sizes:
///   skip its line of column names (with `Name` or `Operation`) and its rows.
/// - nvprof: `Type`, `Time(%)`, `Time`, …, `Name`. The next line contains the units; that of Time is `s`, `ms`,
///   `us` or `ns`. Only rows whose `Type` is `GPU activities` belong to the device.
///
/// Columns are in any order. Several tables may follow each other, each with its own columns and units; sum over
/// all of them. Copies are the rows whose name begins with `[CUDA memcpy`. No other row is a copy, not even `[CUDA
/// memset]`. All numbers are well-formed.
pub fn copy_share(cells: &[Vec<String>]) -> Option<f64> {
    todo!("5.5: find the header, find the columns, sum")
}

/// The position of the product `[rows, inner] · [inner, columns]` under the roofline of `machine`.
///
/// `flops` counts a multiplication and an addition as two. `bytes`: both factors are read once and the result is
/// written once, in numbers of `width` bytes. `intensity` is FLOP per byte. `attainable` is what the machine can
/// reach at that intensity, in FLOP per second: the lower of its arithmetic and its memory limit. `seconds` is the
/// shortest possible time. `memory_bound` is true if only memory is the limit; at the ridge, where both are, it is
/// false.
pub fn matmul_roof(product: &MatMul, machine: &Machine) -> Roof {
    todo!("5.6: count operations and bytes, then apply the roofline")
}

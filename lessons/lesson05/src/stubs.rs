//! Lesson 05: profiling and monitoring. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson05` checks the lesson, `cargo test -p lesson05 5.2` one exercise. `cargo course hint 5.2` shows a
//! hint.

use candle_core::Result;
use canopy::profile::{Amdahl, COMPUTE_BOUND, Kind, Machine, MatMul, Pattern, Roof, Span, Stream, Total};

/// The calls, total time and self time of each name, in nanoseconds, sorted by descending self time, and by name if
/// equal. Without spans the list is empty.
///
/// The spans of one `lane` (a thread) are nested: each lies within another span or next to it. Spans that touch lie
/// next to each other. The list is in any order; only if two spans cover exactly the same time, the first in the list
/// contains the other. Spans of different lanes do not contain each other; their times are added to the same names.
///
/// The self time (`own`) of a span is its time minus that of its direct children. The `total` of a name is the time
/// of its spans, except that a span adds nothing if it lies, at any depth, within another span of the same name:
/// that time is already counted. It still counts as a call, and so does a span of no length.
///
/// All times are exact. A run can have hundreds of thousands of spans, nested as deep. Comparing each span with every
/// other one, or with all around it, takes minutes; sorting them first takes a moment. Recursion overflows the stack.
pub fn totals(spans: &[Span]) -> Vec<Total> {
    todo!("5.1: which span contains which, then sum by name")
}

/// The time that the device takes for each of `runs` calls of `work`, in nanoseconds of `device.now()`, after
/// `warm_up` calls that are not timed. The times are in the order of the runs.
///
/// `work` launches work on the device and returns before it is done; `device.wait()` returns when all launched work
/// is done. The device may still be busy with older work when you are called. A time goes from before the call of
/// `work` until the device is done, and includes exactly one wait. Wait as often as you like where no time is taken.
/// If `work` or a wait fails, return its error at once, and do not call `work` again.
pub fn time_device(
    device: &dyn Stream,
    warm_up: usize,
    runs: usize,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    todo!("5.2: wait in the right places")
}

/// What a timeline of `wall` nanoseconds is bound by.
///
/// The spans are in any order and lane, and none ends after `wall`. Those of `Kind::Kernel` run on the device. They
/// may overlap, because a device has several streams; time with several kernels counts once. If there is kernel time,
/// and it is at least `COMPUTE_BOUND` (0.8) of `wall`, the pattern is `Pattern::Compute`.
///
/// Otherwise the pattern is the greatest of three sums over all spans of all lanes: `Kind::Load` and `Kind::Copy`
/// together (`Pattern::Input`), `Kind::Wait` (`Pattern::Synchronisation`), and `Kind::Launch` (`Pattern::Launch`). If
/// two are equal, the first of these three counts; if all three are 0, the result is None. `Kind::Other` never counts.
pub fn name_pattern(spans: &[Span], wall: u64) -> Option<Pattern> {
    todo!("5.3: is the device busy? If not, what does the host do?")
}

/// What a faster part of a run can bring, by Amdahl's law. `share`, from 0 to 1, is the part's share of the time.
/// The whole run should become `wanted` times as fast; this is any finite number.
///
/// `limit` is the speed-up of the whole run if the part took no time; infinite if the part is the whole run.
/// `needed` is the speed-up that the part needs. It is Some(1) if `wanted` is 1 or less. Otherwise it is None if no
/// finite speed-up is enough: if `wanted` is at the limit or above it. Because 1 − `share` is rounded, a `wanted` that
/// is less than one part in 10⁹ below `limit` is at the limit too.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    todo!("5.4: the rest stays; solve for the part")
}

/// The share of copies in the time that the device was busy, from the cells of a profiler's CSV file,
/// `cells[line][column]`. None if there is no time in any table; Some(0) if there is time, but no copy.
///
/// A table begins with the line of its column names, which is any line with a cell `Name` or `Operation`. It ends
/// before a line of fewer than 3 cells or before the next line of column names. Lines outside of tables do not count.
///
/// - nsys: `Time (%)`, `Total Time (ns)`, …, and either `Name` or `Operation`. All rows belong to the device: the
///   table of the host's calls is never in the file.
/// - nvprof: `Type`, `Time(%)` (no space), `Time`, …, `Name`. The next line contains the units; that of Time is `s`,
///   `ms`, `us` or `ns`. Only rows whose `Type` is `GPU activities` belong to the device.
/// - A table with neither `Time (%)` nor `Time(%)` contains sizes: skip it.
///
/// Columns are in any order. Several tables may follow each other, each with its own columns and units; sum over
/// all of them. Copies are the rows whose name begins with `[CUDA memcpy`, in any direction. No kernel is a copy,
/// whatever its name, nor is `[CUDA memset]`; both are busy time. All rows are complete, and their times are numbers
/// such as `81.5`, without commas.
pub fn copy_share(cells: &[Vec<String>]) -> Option<f64> {
    todo!("5.5: find the header, find the columns, sum")
}

/// The position of the product `[rows, inner] · [inner, columns]` under the roofline of `machine`, which can do
/// `machine.flops` operations and move `machine.bytes` bytes per second. No size is 0.
///
/// `flops` counts a multiplication and an addition as two. `bytes`: both factors are read once and the result is
/// written once, in numbers of `width` bytes. `intensity` is FLOP per byte. `attainable` is what the machine can
/// reach at that intensity, in FLOP per second: the lower of its arithmetic and its memory limit. `seconds` is the
/// shortest possible time. `memory_bound` is true if only memory is the limit; at the ridge, where both are, it is
/// false. A product may have more than 10¹² operations; count them in f64 or u64.
pub fn matmul_roof(product: &MatMul, machine: &Machine) -> Roof {
    todo!("5.6: count operations and bytes, then apply the roofline")
}

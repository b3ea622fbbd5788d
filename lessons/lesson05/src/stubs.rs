//! Lesson 05: profiling and monitoring. Put your code where a `todo!` stands; the comment above says what is asked.
//!
//! `cargo test -p lesson05` checks all, `cargo test -p lesson05 5.2` one exercise. `cargo course hint 5.2` helps.

use candle_core::Result;
use canopy::profile::{Amdahl, Kind, Machine, MatMul, Pattern, Roof, Span, Stream, Total};

/// Calls, total and self time of each name, in nanoseconds: the greatest self time first, of equal ones by name.
///
/// The spans of one `lane` (a thread) nest: each lies within another or beside it, and of two over the very same time the
/// first in the list holds the other. They come in any order. Spans of different lanes have nothing to do with each other;
/// what they add to their names is added up.
///
/// The self time (`own`) of a span is its time less that of the spans directly within it. The `total` of a name is the time
/// of its spans, but a span that lies, however deep, within another of its own name adds nothing to it: that time is
/// counted already. It counts as a call all the same.
///
/// A run can leave hundreds of thousands of spans. Each held against each, they take many minutes; sorted first, a moment.
pub fn totals(spans: &[Span]) -> Vec<Total> {
    todo!("5.1: who holds whom, then add up by name")
}

/// How long the device takes for each of `runs` calls of `work`, in nanoseconds by `device.now()`, after `warm_up` calls
/// that are not timed.
///
/// `work` gives the device something to do and returns before that is done; `device.wait()` returns when all that was given
/// is done. The device may be busy with older work when you are called. A time runs from before the call of `work` until
/// the device is done, and holds one wait. If `work` or a wait fails, so do you.
pub fn time_device(
    device: &dyn Stream,
    warm_up: usize,
    runs: usize,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    todo!("5.2: wait in the right places")
}

/// What a timeline of `wall` nanoseconds is bound by; None where there is nothing to go by.
///
/// The spans are in any order. Those of `Kind::Kernel` are the device's; they may overlap (it has several streams), and a
/// moment with several counts once. Where kernels cover at least `COMPUTE_BOUND` (0.8) of `wall`, it is
/// `Pattern::Compute`. Elsewhere it is what the host spends most of its time with: `Kind::Load` and `Kind::Copy` together
/// (`Pattern::Input`), `Kind::Wait` (`Pattern::Synchronisation`), or `Kind::Launch` (`Pattern::Launch`). Of equal ones the
/// first of these three counts; where all three are 0, it is None. The host's spans do not overlap each other; `Kind::Other`
/// counts for nothing.
pub fn name_pattern(spans: &[Span], wall: u64) -> Option<Pattern> {
    todo!("5.3: is the device busy? If not, what is the host at?")
}

/// What making a part of a run faster can bring. `share`, from 0 to 1, is the part's share of the time; the whole is to be
/// `wanted` times as fast.
///
/// `limit`: how many times as fast the whole would be if the part took no time; infinite where the part is all of it.
/// `needed`: how many times as fast the part must become; None where no factor is enough, and Some(1) where `wanted` is 1
/// or less.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    todo!("5.4: the rest stays; solve for the part")
}

/// Of the time that the device was at something, the share that it copied, by the cells of a profiler's CSV file,
/// `cells[line][column]`; None where there is no table of times, or no time in it.
///
/// A table begins with the line that names its columns, and ends before a line of fewer than 3 cells or the next such line.
/// - nsys: `Time (%)`, `Total Time (ns)`, …, and `Name` or `Operation`. A table without `Time (%)` is one of sizes, and is
///   passed over, the line that names its columns (`Name` or `Operation` among them) and its rows.
/// - nvprof: `Type`, `Time(%)`, `Time`, …, `Name`. The next line holds the units; Time's is `s`, `ms`, `us` or `ns`. Only
///   rows whose `Type` is `GPU activities` are the device's.
///
/// Columns stand in any order. Several tables may follow each other, each with its own columns and units: they are added
/// up. Copies are the rows whose name begins with `[CUDA memcpy`; all other rows, `[CUDA memset]` too, are none. All numbers
/// are well-formed.
pub fn copy_share(cells: &[Vec<String>]) -> Option<f64> {
    todo!("5.5: find the header, find the columns, add up")
}

/// Where the product `[rows, inner] · [inner, columns]` stands under the roofline of `machine`.
///
/// Its `flops`: a multiplication and an addition are two. Its `bytes`: both factors are read once and the result is written
/// once, numbers of `width` bytes. `intensity` is flops a byte. `attainable` is what the machine allows at that intensity, in
/// flops a second: its arithmetic or its memory, whichever is less. `seconds` is the least time. `memory_bound`: memory
/// alone is the limit; at the ridge itself, where both are, it is false.
pub fn matmul_roof(product: &MatMul, machine: &Machine) -> Roof {
    todo!("5.6: count operations and bytes, then look up to the roof")
}

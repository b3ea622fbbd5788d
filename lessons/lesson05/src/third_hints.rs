//! The third hints of lesson 05, each completed as a student would who has no other idea.

use std::collections::HashMap;

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
#[rustfmt::skip]
pub fn totals(spans: &[Span]) -> Vec<Total> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    let mut open: Vec<usize> = Vec::new();
    let mut inside: HashMap<&str, usize> = HashMap::new();
    let mut rows: HashMap<&str, Total> = HashMap::new();
    order.sort_by_key(|&i| {
        (
            spans[i].lane,
            spans[i].start,
            std::cmp::Reverse(spans[i].end),
            i,
        )
    });
    for i in order {
        let (span, time) = (&spans[i], spans[i].end - spans[i].start);
        let over = |&mut t: &mut usize| {
            spans[t].lane != span.lane || spans[t].end < span.end
        };
        while let Some(top) = open.pop_if(over) {
            *inside.entry(&*spans[top].name).or_default() -= 1;
        }
        let row = rows.entry(&*span.name).or_default();
        row.calls += 1;
        row.own += time;
        let same = inside.entry(&*span.name).or_default();
        if *same == 0 {
            row.total += time;
        }
        *same += 1;
        if let Some(&parent) = open.last() {
            rows.entry(&*spans[parent].name).or_default().own -= time;
        }
        open.push(i);
    }
    let mut all: Vec<Total> = Vec::new();
    for (name, mut row) in rows {
        row.name = name.to_string();
        all.push(row);
    }
    all.sort_by(|a, b| b.own.cmp(&a.own).then(a.name.cmp(&b.name)));
    all
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
    for _ in 0..warm_up {
        work()?;
    }
    device.wait()?;
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = device.now();
        work()?;
        device.wait()?;
        times.push(device.now() - start);
    }
    Ok(times)
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
    let mut sorted: Vec<(u64, u64)> = Vec::new();
    let (mut input, mut wait, mut launch) = (0, 0, 0);
    for span in spans {
        let time = span.end - span.start;
        match span.kind {
            Kind::Kernel => sorted.push((span.start, span.end)),
            Kind::Load | Kind::Copy => input += time,
            Kind::Wait => wait += time,
            Kind::Launch => launch += time,
            Kind::Other => {}
        }
    }
    sorted.sort();
    let (mut busy, mut reached) = (0, 0);
    for (start, end) in sorted {
        busy += end.saturating_sub(start.max(reached));
        reached = reached.max(end);
    }
    if busy > 0 && busy as f64 >= COMPUTE_BOUND * wall as f64 {
        return Some(Pattern::Compute);
    }
    let groups = [
        (input, Pattern::Input),
        (wait, Pattern::Synchronisation),
        (launch, Pattern::Launch),
    ];
    let (mut most, mut pattern) = (0, None);
    for (time, name) in groups {
        if time > most {
            (most, pattern) = (time, Some(name));
        }
    }
    pattern
}

/// What a faster part of a run can bring, by Amdahl's law. `share`, from 0 to 1, is the part's share of the time.
/// The whole run should become `wanted` times as fast; this is any finite number.
///
/// `limit` is the speed-up of the whole run if the part took no time; infinite if the part is the whole run.
/// `needed` is the speed-up that the part needs. It is Some(1) if `wanted` is 1 or less. Otherwise it is None if no
/// finite speed-up is enough: if `wanted` is at the limit or above it. Because 1 − `share` is rounded, a `wanted` that
/// is less than one part in 10⁹ below `limit` is at the limit too.
pub fn amdahl(share: f64, wanted: f64) -> Amdahl {
    let rest = 1.0 - share;
    let limit = 1.0 / rest;
    let needed = if wanted <= 1.0 {
        Some(1.0)
    } else if wanted >= limit * (1.0 - 1e-9) {
        None
    } else {
        Some(share / (1.0 / wanted - rest))
    };
    Amdahl { limit, needed }
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
    // The columns of the current table: time, name, type, and its unit.
    let mut table: Option<(usize, usize, Option<usize>, Option<f64>)> = None;
    let (mut all, mut copies) = (0.0, 0.0);
    for line in cells {
        let find = |name: &str| line.iter().position(|c| c == name);
        if let Some(name) = find("Name").or(find("Operation")) {
            table = if find("Time (%)").is_some() {
                find("Total Time (ns)").map(|time| (time, name, None, Some(1.0)))
            } else if find("Time(%)").is_some() {
                find("Time").map(|time| (time, name, find("Type"), None))
            } else {
                None
            };
            continue;
        }
        if line.len() < 3 {
            table = None;
        }
        let Some((time, name, kind, unit)) = table else {
            continue;
        };
        let Some(unit) = unit else {
            let unit = match line[time].as_str() {
                "s" => 1e9,
                "ms" => 1e6,
                "us" => 1e3,
                _ => 1.0,
            };
            table = Some((time, name, kind, Some(unit)));
            continue;
        };
        if kind.is_some_and(|k| line[k] != "GPU activities") {
            continue;
        }
        let (cell, name) = (&line[time], &line[name]);
        let ns = cell.parse::<f64>().ok()? * unit;
        all += ns;
        if name.starts_with("[CUDA memcpy") {
            copies += ns;
        }
    }
    (all > 0.0).then(|| copies / all)
}

/// The position of the product `[rows, inner] · [inner, columns]` under the roofline of `machine`, which can do
/// `machine.flops` operations and move `machine.bytes` bytes per second. No size is 0.
///
/// `flops` counts a multiplication and an addition as two. `bytes`: both factors are read once and the result is
/// written once, in numbers of `width` bytes. `intensity` is FLOP per byte. `attainable` is what the machine can
/// reach at that intensity, in FLOP per second: the lower of its arithmetic and its memory limit. `seconds` is the
/// shortest possible time. `memory_bound` is true if only memory is the limit; at the ridge, where both are, it is
/// false. A product may have more than 10¹² operations; count them in f64 or u64.
#[rustfmt::skip]
pub fn matmul_roof(product: &MatMul, machine: &Machine) -> Roof {
    let [rows, inner, columns, width] =
        [product.rows, product.inner, product.columns, product.width].map(|n| n as f64);
    let flops = 2.0 * rows * inner * columns;
    let bytes = width * (rows * inner + inner * columns + rows * columns);
    let intensity = flops / bytes;
    let memory = intensity * machine.bytes;
    let attainable = memory.min(machine.flops);
    let seconds = flops / attainable;
    let memory_bound = memory < machine.flops;
    Roof { flops, bytes, intensity, attainable, seconds, memory_bound }
}

//! Lesson 05: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each
//! other number is one known mistake, whose cause is in the exercise's file.

use std::{collections::HashMap, iter};

use candle_core::Result;
use canopy::profile::{
    Activity, Amdahl, COMPUTE_BOUND, KernelRow, Kind, Machine, MatMul, Pattern, Roof, Span, Stream, Total,
};

pub fn totals<const M: u8>(spans: &[Span], parents: &[Option<usize>]) -> Vec<Total> {
    let mut rows: HashMap<&str, Total> = HashMap::new();
    let around = |i: usize| iter::successors(parents[i], |&p| parents[p]);
    for (i, span) in spans.iter().enumerate() {
        let same = |p: usize| spans[p].name == span.name;
        let within = around(i).any(same);
        let within = match M {
            2 => parents[i].is_some(),
            3 => false,
            4 => parents[i].is_some_and(same),
            _ => within,
        };
        if M == 7 && within { continue; }
        let row = rows.entry(&*span.name).or_default();
        row.calls += 1;
        row.own += span.duration();
        if !within {
            row.total += span.duration();
        }
    }
    for (i, span) in spans.iter().enumerate() {
        if M == 1 || (M == 5 && parents[i].is_some_and(|p| spans[p].name == span.name)) { continue; }
        if M >= 6 {
            for p in around(i).take(if M == 6 { spans.len() } else { 1 }) {
                rows.entry(&*spans[p].name).and_modify(|row| row.own = row.own.saturating_sub(span.duration()));
            }
            continue;
        }
        if let Some(p) = parents[i] {
            rows.entry(&*spans[p].name).or_default().own -= span.duration();
        }
    }
    let named = |(name, row): (&str, Total)| Total { name: name.to_string(), ..row };
    let mut all: Vec<Total> = rows.into_iter().map(named).collect();
    all.sort_by(|a, b| b.own.cmp(&a.own).then(a.name.cmp(&b.name)));
    all
}

pub fn time_device<const M: u8>(
    device: &dyn Stream,
    warm_up: usize,
    runs: usize,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    if M == 6 { device.wait()?; }
    if M == 7 { return time_device::<0>(device, warm_up, runs, &mut || work().or(Ok(()))); }
    for _ in 0..warm_up {
        work()?;
    }
    if !matches!(M, 3 | 5 | 6) {
        device.wait()?;
    }
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = device.now();
        if matches!(M, 2 | 3) { device.wait()?; }
        work()?;
        let start = if M == 4 { device.now() } else { start };
        if M == 1 { times.push(device.now() - start); device.wait()?; continue; }
        device.wait()?;
        times.push(device.now() - start);
    }
    Ok(times)
}

pub fn name_pattern<const M: u8>(spans: &[Span], wall: u64) -> Option<Pattern> {
    let mut sorted: Vec<(u64, u64)> = Vec::new();
    let (mut input, mut wait, mut launch) = (0, 0, 0);
    for span in spans {
        let time = span.end - span.start;
        match span.kind {
            Kind::Kernel => sorted.push((span.start, span.end)),
            Kind::Copy if M == 7 => {}
            Kind::Load | Kind::Copy => input += time,
            Kind::Wait => wait += time,
            Kind::Launch => launch += time,
            Kind::Other => {}
        }
    }
    if M == 1 && sorted.is_empty() { return None; }
    if M != 5 { sorted.sort(); }
    let first = sorted.first().map_or(0, |kernel| kernel.0);
    let (mut busy, mut reached) = (0, 0);
    for (start, end) in sorted {
        busy += end.saturating_sub(start.max(reached));
        reached = reached.max(end);
        match M {
            2 => reached = 0,
            3 => reached = end,
            4 => busy = reached - first,
            _ => {}
        }
    }
    let last = spans.iter().map(|span| span.end).max();
    let wall = if M == 6 { last.unwrap_or(0) } else { wall };
    if busy > 0 && busy as f64 >= COMPUTE_BOUND * wall as f64 {
        return Some(Pattern::Compute);
    }
    let (mut most, mut pattern) = (0, None);
    for (time, name) in [(input, Pattern::Input), (wait, Pattern::Synchronisation), (launch, Pattern::Launch)] {
        if time > most || (M == 8 && time == most && time > 0) {
            (most, pattern) = (time, Some(name));
        }
    }
    pattern
}

pub fn amdahl<const M: u8>(share: f64, wanted: f64) -> Amdahl {
    let rest = 1.0 - share;
    let limit = 1.0 / rest;
    let needed = if wanted <= 1.0 {
        Some(1.0)
    } else if wanted >= limit * (1.0 - 1e-9) {
        None
    } else {
        Some(share / (1.0 / wanted - rest))
    };
    let (left, whole) = (1.0 / wanted - rest, 1.0 / (rest + share / wanted));
    let factor = |other: f64| needed.map(|n| if wanted <= 1.0 { n } else { other });
    let (limit, needed) = match M {
        1 => (1.0 / share, needed),
        2 => (whole, needed),
        3 => (limit, factor(wanted)),
        4 => (limit, factor(whole)),
        5 => (limit, amdahl::<0>(rest, wanted).needed),
        6 => (limit, factor(left / share)),
        7 => (limit, factor(1.0 / left)),
        _ => (limit, needed),
    };
    Amdahl { limit, needed }
}

pub fn copy_share<const M: u8>(rows: &[KernelRow]) -> Option<f64> {
    let (mut all, mut copies) = (0.0, 0.0);
    for row in rows {
        if M == 3 && row.activity == Activity::Set { continue; }
        let is_copy = match M {
            2 => row.name.contains("memcpy"),
            4 => row.activity != Activity::Kernel,
            _ => row.activity == Activity::Copy,
        };
        let ns = match M {
            5 => row.ns * row.calls as f64,
            6 => row.calls as f64,
            _ => row.ns,
        };
        all += ns;
        if is_copy {
            copies += ns;
        }
    }
    if M == 1 { all -= copies; }
    (all > 0.0).then(|| copies / all)
}

pub fn matmul_roof<const M: u8>(product: &MatMul, machine: &Machine) -> Roof {
    let [rows, inner, columns, width] =
        [product.rows, product.inner, product.columns, product.width].map(|n| n as f64);
    let width = match M {
        3 => 1.0,
        4 => 4.0,
        _ => width,
    };
    let flops = 2.0 * rows * inner * columns;
    let flops = if M == 1 { flops / 2.0 } else { flops };
    let bytes = match M {
        2 => width * (rows * inner + inner * columns),
        5 => width * rows * inner + inner * columns + rows * columns,
        6 => width * (rows * inner + rows * inner * columns + rows * columns),
        _ => width * (rows * inner + inner * columns + rows * columns),
    };
    let intensity = if M == 7 { bytes / flops } else { flops / bytes };
    let memory = intensity * machine.bytes;
    let attainable = memory.min(machine.flops);
    let attainable = if M == 8 { 1.0 / (1.0 / memory + 1.0 / machine.flops) } else { attainable };
    let seconds = flops / attainable;
    let memory_bound = memory < machine.flops;
    let memory_bound = memory_bound || (M == 9 && memory == machine.flops);
    Roof { flops, bytes, intensity, attainable, seconds, memory_bound }
}

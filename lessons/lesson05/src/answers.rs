//! Lesson 05: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each
//! other number is one known mistake, whose cause is in the exercise's file.

use std::collections::HashMap;

use candle_core::Result;
use canopy::profile::{Amdahl, COMPUTE_BOUND, Kind, Machine, MatMul, Pattern, Roof, Span, Stream, Total};

pub fn totals<const M: u8>(spans: &[Span]) -> Vec<Total> {
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
    match M {
        7 => return totals::<0>(&spans.iter().map(|s| Span { lane: 0, ..s.clone() }).collect::<Vec<_>>()),
        8 => order.sort_by_key(|&i| (spans[i].lane, spans[i].start, i)),
        _ => {}
    }
    for i in order {
        let (span, time) = (&spans[i], spans[i].end - spans[i].start);
        let over = |&mut t: &mut usize| {
            spans[t].lane != span.lane || spans[t].end < span.end
        };
        while let Some(top) = open.pop_if(over) {
            if M == 5 { inside.insert(&spans[top].name, 1); }
            *inside.entry(&*spans[top].name).or_default() -= 1;
        }
        let same = inside.entry(&*span.name).or_default();
        let parent = open.last().map(|&parent| &*spans[parent].name);
        let row = rows.entry(&*span.name).or_default();
        row.calls += 1;
        row.own += time;
        let outermost = match M {
            2 => open.is_empty(),
            3 => true,
            4 => parent != Some(&*span.name),
            _ => *same == 0,
        };
        if outermost { row.total += time; }
        *same += 1;
        if let Some(name) = parent.filter(|name| M != 1 && (M != 6 || *name != span.name)) {
            rows.entry(name).or_default().own -= time;
        }
        open.push(i);
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

pub fn copy_share<const M: u8>(cells: &[Vec<String>]) -> Option<f64> {
    // The columns of the current table: time and name.
    let mut table: Option<(usize, usize)> = None;
    let (mut all, mut copies) = (0.0, 0.0);
    for line in cells {
        let find = |name: &str| line.iter().position(|c| c == name);
        if let Some(name) = find("Name").or(find("Operation")) {
            let sizes = table.filter(|_| M == 5);
            table = find("Total Time (ns)").map(|time| (time, name)).or(sizes);
            if M == 4 && table.is_some() { (all, copies) = (0.0, 0.0); }
            continue;
        }
        if line.len() < 3 {
            table = table.filter(|_| M == 6);
            continue;
        }
        let Some((time, name)) = table else { continue };
        let name = match &*line[name] {
            name if M == 2 && name.contains("memcpy") => "[CUDA memcpy",
            "[CUDA memset]" if M == 3 => continue,
            name => name,
        };
        let ns = line[time].parse::<f64>().ok()?;
        all += ns;
        if name.starts_with("[CUDA memcpy") {
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

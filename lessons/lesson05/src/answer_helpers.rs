//! Right answers with switches, from which the known mistakes are built: each switch turns on one mistake.

use std::collections::HashMap;

use canopy::profile::{Kind, Machine, MatMul, Pattern, Roof, Span, Total};

/// What totals may do differently.
#[derive(Clone, Copy)]
pub struct Adding {
    /// All spans below one are taken off it, not only those directly below.
    pub all_below: bool,
    /// Nothing is taken off.
    pub inclusive: bool,
    /// A name counts anew within itself.
    pub twice: bool,
    /// A span within another of its name is no call.
    pub outer_calls: bool,
    /// Takes the list's order for the order in time.
    pub as_listed: bool,
    /// Does not look at lanes.
    pub one_lane: bool,
    /// A span must begin after its parent to lie within it.
    pub strictly: bool,
    /// A name's last span replaces those before it.
    pub last: bool,
    /// The order of the result.
    pub order: fn(&Total, &Total) -> std::cmp::Ordering,
}

pub const ADDING: Adding = Adding {
    all_below: false,
    inclusive: false,
    twice: false,
    outer_calls: false,
    as_listed: false,
    one_lane: false,
    strictly: false,
    last: false,
    order: |a, b| b.own.cmp(&a.own).then_with(|| a.name.cmp(&b.name)),
};

/// All against all: who lies within whom.
pub fn added(spans: &[Span], how: Adding) -> Vec<Total> {
    let lies_within = |i: usize, j: usize| {
        let (a, b) = (&spans[i], &spans[j]);
        let same = (a.start, a.end) == (b.start, b.end);
        let inside = if how.strictly {
            b.start < a.start && a.end < b.end
        } else {
            b.start <= a.start && a.end <= b.end && (!same || j < i)
        };
        i != j && inside && (how.one_lane || a.lane == b.lane) && (!how.as_listed || j < i)
    };
    let mut by_name: HashMap<&str, Total> = HashMap::new();
    for (i, span) in spans.iter().enumerate() {
        let within: Vec<usize> = (0..spans.len()).filter(|&j| lies_within(j, i)).collect();
        let direct = |&&j: &&usize| how.all_below || !within.iter().any(|&k| lies_within(j, k));
        let below: u64 = within.iter().filter(direct).map(|&j| spans[j].duration()).sum();
        let repeated = (0..spans.len()).any(|j| lies_within(i, j) && spans[j].name == span.name);
        let of = by_name.entry(&span.name).or_default();
        if how.last {
            *of = Total::default();
        }
        of.name = span.name.to_string();
        of.calls += usize::from(!(how.outer_calls && repeated));
        of.own += if how.inclusive {
            span.duration()
        } else {
            span.duration().saturating_sub(below)
        };
        if how.twice || !repeated {
            of.total += span.duration();
        }
    }
    let mut all: Vec<Total> = by_name.into_values().collect();
    all.sort_by(how.order);
    all
}

/// What naming a pattern may do differently.
#[derive(Clone, Copy)]
pub struct Naming {
    /// How long the kernels' stretches, sorted, cover.
    pub busy: fn(&[(u64, u64)]) -> u64,
    /// Of the spans' own length, not of the wall.
    pub of_spans: bool,
    /// Above the threshold, not from it on.
    pub above: bool,
    /// The kinds of each group, in the order in which ties go.
    pub groups: [(&'static [Kind], Pattern); 3],
    /// The later of equal ones.
    pub later: bool,
    /// What is said of nothing.
    pub nothing: Option<Pattern>,
}

pub const NAMING: Naming = Naming {
    busy: covered,
    of_spans: false,
    above: false,
    groups: [
        (&[Kind::Load, Kind::Copy], Pattern::Input),
        (&[Kind::Wait], Pattern::Synchronisation),
        (&[Kind::Launch], Pattern::Launch),
    ],
    later: false,
    nothing: None,
};

/// Moment by moment, over all bounds.
pub fn covered(list: &[(u64, u64)]) -> u64 {
    let mut bounds: Vec<u64> = list.iter().flat_map(|&(a, b)| [a, b]).collect();
    bounds.sort_unstable();
    let inside = |a: u64, b: u64| list.iter().any(|&(start, end)| start <= a && b <= end);
    bounds
        .windows(2)
        .filter(|w| inside(w[0], w[1]))
        .map(|w| w[1] - w[0])
        .sum()
}

pub fn named(spans: &[Span], wall: u64, how: Naming) -> Option<Pattern> {
    let mut kernels: Vec<(u64, u64)> = spans
        .iter()
        .filter(|s| s.kind == Kind::Kernel)
        .map(|s| (s.start, s.end))
        .collect();
    kernels.sort_unstable();
    let busy = (how.busy)(&kernels);
    let time = |kinds: &[Kind]| -> u64 {
        let of = spans.iter().filter(|s| kinds.contains(&s.kind));
        of.map(Span::duration).sum()
    };
    let all = if how.of_spans {
        time(&Kind::ALL) - time(&[Kind::Kernel])
    } else {
        wall
    };
    let share = busy as f64 / all as f64;
    if busy > 0 && (share > 0.8 || (share == 0.8 && !how.above)) {
        return Some(Pattern::Compute);
    }
    let mut best = (0, how.nothing);
    for (kinds, pattern) in how.groups {
        let time = time(kinds);
        if time > best.0 || (how.later && time == best.0 && time > 0) {
            best = (time, Some(pattern));
        }
    }
    best.1
}

/// What reading a table may do differently.
#[derive(Clone, Copy)]
pub struct Reading {
    pub is_copy: fn(&str) -> bool,
    /// Rows of the host count.
    pub host: bool,
    /// The unit that the line after nvprof's header says, in nanoseconds.
    pub unit: fn(&str) -> f64,
    /// Takes columns where nsys and nvprof have them today.
    pub fixed: bool,
    /// A table of sizes is read as the one before it.
    pub sizes: bool,
    /// Only the first table is read.
    pub first: bool,
    /// Copies over kernels, not over all.
    pub over_kernels: bool,
    /// Sums the column of percents.
    pub percents: bool,
    /// What is said where there is no time.
    pub nothing: Option<f64>,
}

pub const READING: Reading = Reading {
    is_copy: |name| name.starts_with("[CUDA memcpy"),
    host: false,
    unit: |unit| match unit {
        "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        _ => 1.0,
    },
    fixed: false,
    sizes: false,
    first: false,
    over_kernels: false,
    percents: false,
    nothing: None,
};

/// The cells cut into tables first, then each read by itself.
pub fn shared(cells: &[Vec<String>], how: Reading) -> Option<f64> {
    let heads = |line: &[String]| line.iter().any(|c| c == "Time (%)" || c == "Time(%)");
    let sizes = |line: &[String]| line.iter().any(|c| c == "Operation" || c == "Name") && !heads(line);
    let mut tables: Vec<Vec<&Vec<String>>> = Vec::new();
    let mut within = false;
    for line in cells {
        if heads(line) {
            tables.push(Vec::new());
            within = true;
        } else if line.len() < 3 || (sizes(line) && !how.sizes) {
            within = false;
        } else if sizes(line) {
            continue;
        }
        if let (true, Some(table)) = (within, tables.last_mut()) {
            table.push(line);
        }
    }
    if how.first {
        tables.truncate(1);
    }
    let (mut copies, mut all) = (0.0, 0.0);
    for table in tables {
        let head = table[0];
        let find = |names: &[&str]| head.iter().position(|c| names.contains(&c.as_str()));
        let of_nsys = find(&["Total Time (ns)"]);
        let kind = find(&["Type"]);
        let (time, name) = match (how.fixed, of_nsys.is_some()) {
            (true, true) => (1, head.len() - 1),
            (true, false) => (2, 7),
            _ => (of_nsys.or(find(&["Time"]))?, find(&["Operation", "Name"])?),
        };
        let time = if how.percents {
            find(&["Time (%)", "Time(%)"])?
        } else {
            time
        };
        let skipped = if of_nsys.is_some() { 1 } else { 2 };
        let unit = match of_nsys {
            Some(_) => 1.0,
            None => table.get(1).map_or(1.0, |l| (how.unit)(&l[time])),
        };
        for row in table.iter().skip(skipped) {
            if !how.host && kind.is_some_and(|k| row[k] != "GPU activities") {
                continue;
            }
            let ns = row[time].parse::<f64>().unwrap_or(0.0) * unit;
            all += ns;
            copies += if (how.is_copy)(&row[name]) { ns } else { 0.0 };
        }
    }
    if all <= 0.0 {
        return how.nothing;
    }
    Some(copies / if how.over_kernels { all - copies } else { all })
}

/// The roofline by counts of operations and numbers.
pub fn roof_by(
    product: &MatMul,
    machine: &Machine,
    count: impl Fn([f64; 3]) -> (f64, f64),
    held: impl Fn(f64, f64) -> bool,
) -> Roof {
    let [rows, inner, columns, width] =
        [product.rows, product.inner, product.columns, product.width].map(|n| n as f64);
    let (flops, numbers) = count([rows, inner, columns]);
    let bytes = numbers * width;
    let (by_memory, by_arithmetic) = (bytes / machine.bytes, flops / machine.flops);
    let seconds = by_memory.max(by_arithmetic);
    Roof {
        flops,
        bytes,
        intensity: flops / bytes,
        attainable: flops / seconds,
        seconds,
        memory_bound: held(flops / bytes, machine.flops / machine.bytes),
    }
}

/// Operations, and the numbers of all three matrices.
pub fn counts([rows, inner, columns]: [f64; 3]) -> (f64, f64) {
    (
        2.0 * rows * inner * columns,
        rows * inner + inner * columns + rows * columns,
    )
}

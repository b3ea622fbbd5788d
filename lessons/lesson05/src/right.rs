//! Right answers that are not written as canopy's.

use std::{cmp::Reverse, collections::BTreeMap};

use canopy::profile::{Activity, Amdahl, Kind, Pattern, Roof, Span, Total};
use grader::{Right, known};

use crate::{Lesson05, REFERENCE};

pub const RIGHT: &[Right<Lesson05>] = &[
    known!("5.1", "each span without its children, then by name", totals: |spans, parents| {
        let mut own: Vec<u64> = spans.iter().map(Span::duration).collect();
        for (span, parent) in spans.iter().zip(parents) {
            parent.iter().for_each(|&p| own[p] -= span.duration());
        }
        let mut rows = BTreeMap::<&str, Total>::new();
        for (i, span) in spans.iter().enumerate() {
            let mut up = parents[i];
            while let Some(p) = up.filter(|&p| spans[p].name != span.name) {
                up = parents[p];
            }
            let row = rows.entry(&span.name).or_default();
            row.calls += 1;
            row.own += own[i];
            row.total += if up.is_none() { span.duration() } else { 0 };
        }
        let mut all: Vec<Total> = rows.into_iter().map(|(name, row)| Total { name: name.into(), ..row }).collect();
        all.sort_by_key(|row| Reverse(row.own));
        all
    }),
    known!("5.2", "a wait wherever no time is taken", time_device: |d, w, n, f| {
        for _ in 0..w {
            d.wait()?;
            f()?;
        }
        let mut once = || {
            d.wait()?;
            let start = d.now();
            f()?;
            d.wait()?;
            Ok(d.now() - start)
        };
        (0..n).map(|_| once()).collect()
    }),
    known!("5.3", "moment by moment, over all bounds", name_pattern: |spans, wall| {
        let of = |kind: Kind| spans.iter().filter(move |span| span.kind == kind);
        let mut bounds: Vec<u64> = of(Kind::Kernel).flat_map(|s| [s.start, s.end]).collect();
        bounds.sort_unstable();
        let runs = |w: &&[u64]| of(Kind::Kernel).any(|s| s.start <= w[0] && w[1] <= s.end);
        let busy: u64 = bounds.windows(2).filter(runs).map(|w| w[1] - w[0]).sum();
        if busy > 0 && busy as f64 / wall as f64 >= 0.8 {
            return Some(Pattern::Compute);
        }
        let sum = |kind: Kind| of(kind).map(Span::duration).sum::<u64>();
        let input = (sum(Kind::Load) + sum(Kind::Copy), Pattern::Input);
        let others = [(sum(Kind::Launch), Pattern::Launch), (sum(Kind::Wait), Pattern::Synchronisation)];
        let greatest = others.into_iter().chain([input]).max_by_key(|sum| sum.0)?;
        (greatest.0 > 0).then_some(greatest.1)
    }),
    known!("5.4", "by the times that the whole and the rest take", amdahl: |share, wanted| {
        let rest = 1.0 - share;
        let needed = match wanted {
            w if w <= 1.0 => Some(1.0),
            w if w * rest >= 1.0 - 1e-9 => None,
            w => Some(w * share / (1.0 - w * rest)),
        };
        Amdahl { limit: rest.recip(), needed }
    }),
    known!("5.5", "by the time of what is not a copy", copy_share: |rows| {
        let sum = |copies: bool| -> f64 {
            rows.iter().filter(|row| (row.activity == Activity::Copy) == copies).map(|row| row.ns).sum()
        };
        let share = 1.0 / (1.0 + sum(false) / sum(true));
        if rows.iter().all(|row| row.ns == 0.0) { None } else { Some(share) }
    }),
    known!("5.6", "by the two times, the longer of which counts", matmul_roof: |p, m| {
        let [rows, inner, columns] = [p.rows, p.inner, p.columns].map(|n| n as u64);
        let flops = (rows * columns * (inner + inner)) as f64;
        let bytes = (p.width as u64 * (rows * (inner + columns) + inner * columns)) as f64;
        let (intensity, seconds) = (flops / bytes, (bytes / m.bytes).max(flops / m.flops));
        let memory_bound = intensity < m.flops / m.bytes;
        Roof { flops, bytes, intensity, attainable: flops / seconds, seconds, memory_bound }
    }),
];

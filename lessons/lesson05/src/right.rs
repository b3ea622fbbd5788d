//! Right answers that are not written as canopy's.

use std::collections::BTreeMap;

use canopy::profile::{Amdahl, Span, Total};
use grader::{Right, right};

use crate::{Lesson05, REFERENCE, answer_helpers::*};

pub const RIGHT: &[Right<Lesson05>] = &[
    right!("5.1", "a stack, and what lies below each span", totals: |spans| added(spans, ADDING)),
    right!("5.1", "instant by instant between starts and ends", totals: swept),
    right!("5.2", "each run by two readings kept in a list", time_device: |d, w, n, f| {
        (0..w).try_for_each(|_| f())?;
        d.wait()?;
        let readings: candle_core::Result<Vec<(u64, u64)>> = (0..n)
            .map(|_| {
                let start = d.now();
                f()?;
                d.wait()?;
                Ok((start, d.now()))
            })
            .collect();
        Ok(readings?.into_iter().map(|(a, b)| b - a).collect())
    }),
    right!("5.2", "each run after a wait of its own", time_device: |d, w, n, f| {
        for _ in 0..w {
            f()?;
        }
        (0..n)
            .map(|_| {
                d.wait()?;
                let start = d.now();
                f()?;
                d.wait()?;
                Ok(d.now() - start)
            })
            .collect()
    }),
    right!("5.3", "moment by moment, over all bounds", name_pattern: |s, w| named(s, w, NAMING)),
    right!("5.4", "by the times that the whole and the rest take", amdahl: |share, wanted| {
        let rest = 1.0 - share;
        let needed = match wanted {
            w if w <= 1.0 => Some(1.0),
            w if w * rest >= 1.0 - 1e-9 => None,
            w => Some(w * share / (1.0 - w * rest)),
        };
        Amdahl { limit: rest.recip(), needed }
    }),
    right!("5.4", "no factor above a billion", amdahl: |share, wanted| {
        let rest = 1.0 - share;
        let factor = share / (1.0 / wanted - rest);
        let needed = if wanted <= 1.0 { 1.0 } else { factor };
        Amdahl { limit: 1.0 / rest, needed: (1.0..1e9).contains(&needed).then_some(needed) }
    }),
    right!("5.5", "cut into tables first", copy_share: |cells| shared(cells, READING)),
    right!("5.6", "by the two times, the longer of which counts", matmul_roof: |p, m| {
        roof_by(p, m, counts, |intensity, ridge| intensity < ridge)
    }),
];

/// The time between two events belongs to the innermost open span.
fn swept(spans: &[Span]) -> Vec<Total> {
    // Ends before starts; of starts at one time, the longer span first, and of ends the other way round.
    let mut events: Vec<(usize, u64, bool, std::cmp::Reverse<u64>, usize)> = Vec::new();
    let mut all: BTreeMap<&str, Total> = BTreeMap::new();
    for (i, span) in spans.iter().enumerate() {
        let of = all.entry(&span.name).or_insert_with(|| Total {
            name: span.name.to_string(),
            ..Total::default()
        });
        of.calls += 1;
        if span.start < span.end {
            events.push((span.lane, span.start, true, std::cmp::Reverse(span.end), i));
            events.push((span.lane, span.end, false, std::cmp::Reverse(0), 0));
        }
    }
    events.sort_unstable();
    let (mut open, mut around, mut last) = (Vec::new(), BTreeMap::<&str, usize>::new(), 0);
    for (_, at, starts, _, i) in events {
        if let Some(of) = open
            .last()
            .and_then(|&top: &usize| all.get_mut(&*spans[top].name))
        {
            of.own += at - last;
        }
        last = at;
        if starts {
            let (span, count) = (&spans[i], around.entry(&spans[i].name).or_default());
            if let (0, Some(of)) = (*count, all.get_mut(&*span.name)) {
                of.total += span.duration();
            }
            *count += 1;
            open.push(i);
        } else if let Some(count) = open.pop().and_then(|top| around.get_mut(&*spans[top].name)) {
            *count -= 1;
        }
    }
    let mut rows: Vec<Total> = all.into_values().collect();
    rows.sort_by_key(|t| std::cmp::Reverse(t.own));
    rows
}

use canopy::profile::{Kind, Pattern, Span};
use grader::{Mistake, wrong};

use crate::{Lesson05, REFERENCE, answer_helpers::*};

pub const MISTAKES: &[Mistake<Lesson05>] = &[
    wrong!("5.3", recognises_each_pattern,
        "The host decides although the device is busy: if kernels cover 80 % of the time, the pattern is compute, however long the host waits.",
        name_pattern: |s, w| named(s, w, Naming { busy: |_| 0, ..NAMING }).or_else(|| (REFERENCE.name_pattern)(s, w))),
    wrong!("5.3", recognises_each_pattern,
        "The pattern is never compute: with whole numbers, busy / wall is 0 unless all of the time is covered. Divide as f64.",
        name_pattern: |s, w| named(s, w, Naming { is_compute: |busy, whole| busy > 0 && busy >= whole, ..NAMING })),
    wrong!("5.3", recognises_each_pattern,
    "The smallest of the host's times decides; the greatest should.",
    name_pattern: |s, w| match (REFERENCE.name_pattern)(s, w) {
        Some(Pattern::Compute) => Some(Pattern::Compute),
        None => None,
        _ => NAMING.groups.iter().min_by_key(|g| sum_of(s, |k| g.0.contains(&k))).and_then(|g| g.1),
    }),
    wrong!("5.3", recognises_each_pattern,
    "Waiting and launching are swapped.",
    name_pattern: |s, w| (REFERENCE.name_pattern)(s, w).map(|p| match p {
        Pattern::Launch => Pattern::Synchronisation,
        Pattern::Synchronisation => Pattern::Launch,
        p => p,
    })),
    wrong!("5.3", recognises_each_pattern,
        "Without kernels there is no pattern here; but the host's spans are evidence too.",
        name_pattern: |s, w| named(s, w, Naming { needs_kernels: true, ..NAMING })),
    wrong!("5.3", recognises_each_pattern,
        "The busy time is divided by the times of all spans; the share is of `wall`.",
        name_pattern: |s, w| named(s, w, Naming { whole: |s, _| sum_of(s, |_| true), ..NAMING })),
    wrong!("5.3", recognises_each_pattern,
        "Kernels that run in lane 0 are not counted: the kind decides, not the lane.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| covered(&k.iter().filter(|k| k.2 != 0).copied().collect::<Vec<_>>()), ..NAMING })),
    wrong!("5.3", recognises_each_pattern,
        "If the host does nothing that counts, the result is None here; but kernels that cover 80 % of the time are enough.",
        name_pattern: |s, w| named(s, w, NAMING).filter(|_| sum_of(s, |k| !matches!(k, Kind::Kernel | Kind::Other)) > 0)),
    wrong!("5.3", counts_overlapping_kernels_once,
        "Only the busiest stream is counted, and all of them together may cover more.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| lanes(k).iter().map(|k| k.iter().map(|k| k.1 - k.0).sum()).max().unwrap_or(0), ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "The kernels are sorted by their ends: a long one then comes after the short ones within it. Sort by start.",
        name_pattern: |s, w| named(s, w, Naming { busy: by_ends, ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "The kernels are sorted by lane first, so that early kernels of a later lane are lost: sort all of them by start.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| {
            let mut sorted = k.to_vec();
            sorted.sort_by_key(|k| k.2);
            let (mut sum, mut reached) = (0, 0);
            for (a, b, _) in sorted { sum += b.saturating_sub(a.max(reached)); reached = reached.max(b); }
            sum
        }, ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "Overlapping kernels are summed: time with two kernels counts once.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| k.iter().map(|k| k.1 - k.0).sum(), ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "Each stream is counted by itself, and the streams are summed: time with kernels of two streams counts once.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| lanes(k).iter().map(|k| covered(k)).sum(), ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "The busy times of the streams are averaged: count the time in which any of them is busy.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| lanes(k).iter().map(|k| covered(k)).sum::<u64>() / lanes(k).len().max(1) as u64, ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "Only the busiest stream is counted; all of them together may cover more.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| lanes(k).iter().map(|k| covered(k)).max().unwrap_or(0), ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "Only the end of the kernel before is looked at; one before it may continue for longer. Keep the greatest end.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| {
            let (mut sum, mut reached) = (0, 0);
            for &(a, b, _) in k { sum += b.saturating_sub(a.max(reached)); reached = b; }
            sum
        }, ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "A kernel within another one ends before the time that is counted already, and an unsigned difference cannot be negative: use `saturating_sub`.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| {
            let (mut sum, mut reached) = (0, 0);
            for &(a, b, _) in k { sum += b - a.max(reached); reached = reached.max(b); }
            sum
        }, ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "A short kernel within a long one ends the covered time, although the long one continues: a merged piece ends at the greater of both ends.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| {
            let mut pieces: Vec<(u64, u64)> = Vec::new();
            for &(a, b, _) in k {
                match pieces.last_mut() {
                    Some(last) if a <= last.1 => last.1 = b,
                    _ => pieces.push((a, b)),
                }
            }
            pieces.iter().map(|p| p.1 - p.0).sum()
        }, ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "The last piece of covered time is not added: add it after the loop.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| covered(k).saturating_sub(last_piece(k)), ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "Only the longest kernel is counted; all kernels together cover more.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| k.iter().map(|k| k.1 - k.0).max().unwrap_or(0), ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
        "The time from the start of the first kernel to the end of the last one includes gaps.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| k.iter().map(|k| k.1).max().unwrap_or(0) - k.iter().map(|k| k.0).min().unwrap_or(0), ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once,
    "The kernels are expected in the order of their starts; sort them.",
    name_pattern: |s, w| {
        let (mut sum, mut reached) = (0, 0);
        for k in s.iter().filter(|s| s.kind == Kind::Kernel) {
            sum += k.end.saturating_sub(k.start.max(reached));
            reached = reached.max(k.end);
        }
        if (NAMING.is_compute)(sum, w) { return Some(Pattern::Compute); }
        named(s, w, Naming { busy: |_| 0, ..NAMING })
    }),
    wrong!("5.3", measures_against_wall_time,
        "The share is relative to the host's spans; it should be relative to `wall`.",
        name_pattern: |s, w| named(s, w, Naming { whole: |s, _| sum_of(s, |k| k != Kind::Kernel), ..NAMING })),
    wrong!("5.3", measures_against_wall_time,
        "The share is relative to the end of the last span; it should be relative to `wall`.",
        name_pattern: |s, w| named(s, w, Naming { whole: |s, _| s.iter().map(|s| s.end).max().unwrap_or(0), ..NAMING })),
    wrong!("5.3", measures_against_wall_time,
        "The share is relative to the time from the first start to the last end of all spans; it should be relative to `wall`.",
        name_pattern: |s, w| named(s, w, Naming { whole: |s, _| s.iter().map(|s| s.end).max().unwrap_or(0) - s.iter().map(|s| s.start).min().unwrap_or(0), ..NAMING })),
    wrong!("5.3", adds_loading_and_copying,
        "Copying is ignored; it belongs to input, together with loading.",
        name_pattern: |s, w| named(s, w, Naming { groups: &[(&[Kind::Load], Some(Pattern::Input)), WAIT, LAUNCH], ..NAMING })),
    wrong!("5.3", adds_loading_and_copying,
        "Loading and copying are compared one by one; their times belong together.",
        name_pattern: |s, w| named(s, w, Naming { groups: &[(&[Kind::Load], Some(Pattern::Input)), (&[Kind::Copy], Some(Pattern::Input)), WAIT, LAUNCH], ..NAMING })),
    wrong!("5.3", adds_loading_and_copying,
        "Copying is added to waiting; it belongs to input, together with loading.",
        name_pattern: |s, w| named(s, w, Naming { groups: &[(&[Kind::Load], Some(Pattern::Input)), (&[Kind::Wait, Kind::Copy], Some(Pattern::Synchronisation)), LAUNCH], ..NAMING })),
    wrong!("5.3", adds_loading_and_copying,
    "Copies in other lanes than the host's are left out; all spans of a kind count.",
    name_pattern: |s, w| {
        let host = s.iter().filter(|s| s.lane == 0 || s.kind == Kind::Kernel);
        (REFERENCE.name_pattern)(&host.cloned().collect::<Vec<_>>(), w)
    }),
    wrong!("5.3", adds_loading_and_copying,
    "Spans in a lane that also has kernels are left out; the kind decides, not the lane.",
    name_pattern: |s, w| {
        let device = |lane: usize| s.iter().any(|s| s.lane == lane && s.kind == Kind::Kernel);
        let host = s.iter().filter(|s| s.kind == Kind::Kernel || !device(s.lane));
        (REFERENCE.name_pattern)(&host.cloned().collect::<Vec<_>>(), w)
    }),
    wrong!("5.3", adds_loading_and_copying,
    "Copies count as busy time of the device; only kernels do.",
    name_pattern: |s, w| {
        let mut busy: Vec<_> = s.iter().filter(|s| matches!(s.kind, Kind::Kernel | Kind::Copy)).map(|s| (s.start, s.end, 0)).collect();
        busy.sort_unstable();
        if (NAMING.is_compute)(covered(&busy), w) { return Some(Pattern::Compute); }
        (REFERENCE.name_pattern)(s, w)
    }),
    wrong!("5.3", sums_many_short_spans,
    "Times of the host that overlap count once; only kernels do so, and the others are summed.",
    name_pattern: |s, w| named(s, w, NAMING).map(|p| if p == Pattern::Compute { p } else { by_cover(s) })),
    wrong!("5.3", sums_many_short_spans,
        "The longest span decides; the sum of the spans of a kind should.",
        name_pattern: |s, w| named(s, w, Naming { time: |times| times.max().unwrap_or(0), ..NAMING })),
    wrong!("5.3", sums_many_short_spans,
        "The number of spans decides; the sum of their times should.",
        name_pattern: |s, w| named(s, w, Naming { time: |times| times.count() as u64, ..NAMING })),
    wrong!("5.3", sums_many_short_spans,
        "`Kind::Other` takes part; it does not count, however long it is.",
        name_pattern: |s, w| named(s, w, Naming { groups: &[INPUT, WAIT, LAUNCH, (&[Kind::Other], None)], ..NAMING })),
    wrong!("5.3", sums_many_short_spans,
        "A pattern needs more than half of the time here; the greatest sum decides, however small it is.",
        name_pattern: |s, w| named(s, w, Naming { at_least: 0.5, ..NAMING })),
    wrong!("5.3", sums_many_short_spans,
        "The mean of the spans decides; the sum of their times should.",
        name_pattern: |s, w| named(s, w, Naming { time: |times| { let (n, sum) = times.fold((0, 0), |a, t| (a.0 + 1, a.1 + t)); sum / n.max(1) }, ..NAMING })),
    wrong!("5.3", is_compute_from_the_threshold_on,
        "At the threshold itself, the pattern is already compute: >= and not >.",
        name_pattern: |s, w| named(s, w, Naming { is_compute: |busy, whole| busy as f64 > 0.8 * whole as f64, ..NAMING })),
    wrong!("5.3", is_compute_from_the_threshold_on,
        "The share is rounded to whole per cent.",
        name_pattern: |s, w| named(s, w, Naming { is_compute: |busy, whole| busy > 0 && (100.0 * busy as f64 / whole as f64).round() >= 80.0, ..NAMING })),
    wrong!("5.3", is_compute_from_the_threshold_on,
        "80 % of the wall time is rounded down to whole nanoseconds: compare as f64.",
        name_pattern: |s, w| named(s, w, Naming { is_compute: |busy, whole| busy > 0 && busy >= whole * 8 / 10, ..NAMING })),
    wrong!("5.3", is_compute_from_the_threshold_on,
        "The share is computed in f32, which rounds seconds of nanoseconds: use f64.",
        name_pattern: |s, w| named(s, w, Naming { is_compute: |busy, whole| busy > 0 && busy as f32 / whole as f32 >= 0.8, ..NAMING })),
    wrong!("5.3", breaks_ties_in_order,
        "Of equal times the last one counts; the first of input, synchronisation and launch should.",
        name_pattern: |s, w| named(s, w, Naming { later: true, ..NAMING })),
    wrong!("5.3", breaks_ties_in_order,
        "Of equal times launch counts first; the order is input, synchronisation, launch.",
        name_pattern: |s, w| named(s, w, Naming { groups: &[LAUNCH, INPUT, WAIT], ..NAMING })),
    wrong!("5.3", breaks_ties_in_order,
        "Of equal times, input comes before synchronisation.",
        name_pattern: |s, w| named(s, w, Naming { groups: &[WAIT, INPUT, LAUNCH], ..NAMING })),
    wrong!("5.3", breaks_ties_in_order,
        "Of equal times, synchronisation comes before launch.",
        name_pattern: |s, w| named(s, w, Naming { groups: &[INPUT, LAUNCH, WAIT], ..NAMING })),
    wrong!("5.3", is_none_without_evidence,
        "Without a relevant span there is no pattern: None.",
        name_pattern: |s, w| named(s, w, Naming { nothing: Some(Pattern::Input), ..NAMING })),
    wrong!("5.3", is_none_without_evidence,
        "Without a relevant span there is no pattern: None, and not the last of the three.",
        name_pattern: |s, w| named(s, w, Naming { nothing: Some(Pattern::Launch), ..NAMING })),
    wrong!("5.3", is_none_without_evidence,
        "An empty list gives None, but spans of `Kind::Other` alone must give None as well.",
        name_pattern: |s, w| if s.is_empty() || w == 0 { None } else { named(s, w, Naming { nothing: Some(Pattern::Input), ..NAMING }) }),
    wrong!("5.3", is_none_without_evidence,
        "There are spans that count, but all three sums are 0: the result is None, not the first of the three.",
        name_pattern: |s, w| (REFERENCE.name_pattern)(s, w).or(s.iter().any(|s| !matches!(s.kind, Kind::Kernel | Kind::Other)).then_some(Pattern::Input))),
    wrong!("5.3", is_none_without_evidence,
        "There are spans that count, but all three sums are 0: the result is None, not the last of the three.",
        name_pattern: |s, w| (REFERENCE.name_pattern)(s, w).or(s.iter().any(|s| !matches!(s.kind, Kind::Kernel | Kind::Other)).then_some(Pattern::Launch))),
    wrong!("5.3", is_none_without_evidence,
        "Without kernel time the pattern is not compute, although 0 is at least 0.8 times a wall time of 0.",
        name_pattern: |s, w| named(s, w, Naming { is_compute: |busy, whole| busy as f64 >= 0.8 * whole as f64, ..NAMING })),
    wrong!("5.3", is_none_without_evidence,
        "It divides by `wall`, which is 0 here; multiply by it instead.",
        name_pattern: |s, w| { assert!(w > 0, "attempt to divide by zero"); named(s, w, NAMING) }),
    wrong!("5.3", is_none_without_evidence,
        "Some kernel time, but too little of it, and a host that does nothing that counts: that is None, not compute.",
        name_pattern: |s, w| (REFERENCE.name_pattern)(s, w).or((sum_of(s, |k| k == Kind::Kernel) > 0).then_some(Pattern::Compute))),
];

/// The kernels of each stream.
fn lanes(kernels: &[(u64, u64, usize)]) -> Vec<Vec<(u64, u64, usize)>> {
    let mut by_lane = std::collections::BTreeMap::<usize, Vec<_>>::new();
    for &kernel in kernels {
        by_lane.entry(kernel.2).or_default().push(kernel);
    }
    by_lane.into_values().collect()
}

/// Each kernel from the greatest end so far on, in the order of their ends.
fn by_ends(kernels: &[(u64, u64, usize)]) -> u64 {
    let mut sorted = kernels.to_vec();
    sorted.sort_by_key(|k| k.1);
    let mut reached = 0;
    let mut sum = 0;
    for (start, end, _) in sorted {
        sum += end.saturating_sub(start.max(reached));
        reached = end;
    }
    sum
}

/// The group whose spans cover the most.
fn by_cover(spans: &[Span]) -> Pattern {
    let mut best = (0, Pattern::Input);
    for (kinds, pattern) in NAMING.groups {
        let of = spans.iter().filter(|s| kinds.contains(&s.kind));
        let time = covered(&of.map(|s| (s.start, s.end, 0)).collect::<Vec<_>>());
        if let (true, Some(pattern)) = (time > best.0, pattern) {
            best = (time, *pattern);
        }
    }
    best.1
}

/// The length of the last piece of covered time.
fn last_piece(kernels: &[(u64, u64, usize)]) -> u64 {
    let (mut start, mut reached) = (0, 0);
    for &(a, b, _) in kernels {
        if a > reached {
            start = a;
        }
        reached = reached.max(b);
    }
    reached - start
}

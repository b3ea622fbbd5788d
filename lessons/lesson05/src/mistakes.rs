//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use canopy::profile::{Amdahl, Kind, Pattern, Roof};
use grader::{Mistake, wrong};

use crate::{Lesson05, REFERENCE, answer_helpers::*};

pub const MISTAKES: &[Mistake<Lesson05>] = &[
    wrong!("5.1", subtracts_direct_children_from_self_time, "The self time still includes the time of the child spans.",
        totals: |s| added(s, Adding { inclusive: true, ..ADDING })),
    wrong!("5.1", subtracts_direct_children_from_self_time,
        "Grandchildren are subtracted as well: subtract only direct children, or their time is subtracted twice.",
        totals: |s| added(s, Adding { all_below: true, ..ADDING })),
    wrong!("5.1", subtracts_direct_children_from_self_time, "`total` and `own` are swapped.",
        totals: |s| added(s, ADDING).into_iter().map(|t| canopy::profile::Total { total: t.own, own: t.total, ..t }).collect()),
    wrong!("5.1", sums_spans_of_the_same_name, "Each span has a row of its own; the spans of a name share one.",
    totals: |s| {
        let one = |i: usize| {
            let own = |list: &[canopy::profile::Span]| added(list, ADDING).into_iter().find(|t| t.name == s[i].name);
            let mut row = own(&s[i..=i]).unwrap_or_default();
            let within = |j: &canopy::profile::Span| j.name != s[i].name && s[i].start <= j.start && j.end <= s[i].end;
            row.own = row.own.saturating_sub(s.iter().filter(|j| within(j)).map(canopy::profile::Span::duration).sum());
            row
        };
        (0..s.len()).map(one).collect()
    }),
    wrong!("5.1", sums_spans_of_the_same_name, "A later span replaces the earlier ones of its name; add it to them.",
        totals: |s| added(s, Adding { last: true, ..ADDING })),
    wrong!("5.1", counts_recursive_time_once,
        "If a name lies within itself, its total counts that time twice: the outermost span already includes it.",
        totals: |s| added(s, Adding { twice: true, ..ADDING })),
    wrong!("5.1", counts_recursive_time_once, "A span within another one of the same name still counts as a call.",
        totals: |s| added(s, Adding { outer_calls: true, ..ADDING })),
    wrong!("5.1", accepts_spans_in_any_order, "The list is assumed to be sorted: spans are often recorded when they end, innermost first.",
        totals: |s| added(s, Adding { as_listed: true, ..ADDING })),
    wrong!("5.1", separates_threads, "A span contains one of another lane: spans of other threads are not its children.",
        totals: |s| added(s, Adding { one_lane: true, ..ADDING })),
    wrong!("5.1", accepts_adjacent_spans, "A span that starts or ends at the same time as another still lies within it.",
        totals: |s| added(s, Adding { strictly: true, ..ADDING })),
    wrong!("5.1", sorts_by_self_time, "The rows are sorted by total; sort them by self time.",
        totals: |s| added(s, Adding { order: |a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)), ..ADDING })),
    wrong!("5.1", sorts_by_self_time, "The smallest self time comes first; the greatest should.",
        totals: |s| added(s, Adding { order: |a, b| a.own.cmp(&b.own).then_with(|| a.name.cmp(&b.name)), ..ADDING })),
    wrong!("5.1", sorts_by_self_time, "Rows of equal self time are not sorted by name.",
        totals: |s| added(s, Adding { order: |a, b| b.own.cmp(&a.own).then_with(|| b.name.cmp(&a.name)), ..ADDING })),
    wrong!("5.2", times_until_the_device_is_done,
        "The clock is read when `work` has returned: that is the time of the launch, not of the work. Wait first.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let mut once = || { let start = d.now(); f()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", times_until_the_device_is_done, "A time includes two waits; one is enough, and each takes time.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let mut once = || { let start = d.now(); f()?; d.wait()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", times_until_the_device_is_done, "The wait before a run comes after the clock is read, so it is timed.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        let mut once = || { let start = d.now(); d.wait()?; f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", excludes_older_work,
        "The first time includes older work of the device: wait before the clock is first read.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        if w > 0 { d.wait()?; }
        let mut once = || { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", excludes_the_warm_up, "The device is still busy with the warm-up when the clock is first read: wait after the warm-up.",
    time_device: |d, w, n, f| {
        d.wait()?;
        for _ in 0..w { f()?; }
        let mut once = || { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", excludes_the_warm_up, "There is no warm-up: `work` is called `runs` times only.",
        time_device: |d, _, n, f| (REFERENCE.time_device)(d, 0, n, f)),
    wrong!("5.2", excludes_the_warm_up, "The warm-up calls are subtracted from the runs; they come before them.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, w, n.saturating_sub(w), f)),
    wrong!("5.2", excludes_the_warm_up, "The warm-up is timed with the runs.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, 0, w + n, f)),
    wrong!("5.2", times_each_run_separately, "All runs have the same time, their mean: return the time of each run.",
    time_device: |d, w, n, f| {
        let times = (REFERENCE.time_device)(d, w, n, f)?;
        Ok(vec![times.iter().sum::<u64>() / n.max(1) as u64; n])
    }),
    wrong!("5.2", times_each_run_separately, "The times are measured from the start of the first run; measure each from its own start.",
    time_device: |d, w, n, f| {
        let times = (REFERENCE.time_device)(d, w, n, f)?;
        Ok(times.iter().scan(0, |sum, t| { *sum += t; Some(*sum) }).collect())
    }),
    wrong!("5.2", times_each_run_separately, "The times are sorted; return them in the order of the runs.",
    time_device: |d, w, n, f| {
        let mut times = (REFERENCE.time_device)(d, w, n, f)?;
        times.sort_unstable();
        Ok(times)
    }),
    wrong!("5.2", returns_errors_of_work_and_waits, "An error of a wait is ignored: a wait reports the errors of the device.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        let _ = d.wait();
        let mut once = || { let start = d.now(); f()?; let _ = d.wait(); Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", returns_errors_of_work_and_waits, "An error of `work` is ignored.",
    time_device: |d, w, n, f| (REFERENCE.time_device)(d, w, n, &mut || { let _ = f(); Ok(()) })),
    wrong!("5.3", recognises_each_pattern, "A host that waits much is no problem if the device is busy: check that first.",
        name_pattern: |s, w| named(s, w, Naming { busy: |_| 0, ..NAMING })),
    wrong!("5.3", recognises_each_pattern, "The smallest of the host's times decides; the greatest should.",
    name_pattern: |s, w| match (REFERENCE.name_pattern)(s, w) {
        Some(Pattern::Compute) => Some(Pattern::Compute),
        None => None,
        _ => {
            let time = |kinds: &[Kind]| s.iter().filter(|s| kinds.contains(&s.kind)).map(|s| s.end - s.start).sum::<u64>();
            NAMING.groups.into_iter().min_by_key(|g| time(g.0)).map(|g| g.1)
        }
    }),
    wrong!("5.3", recognises_each_pattern, "Waiting and launching are swapped.",
    name_pattern: |s, w| (REFERENCE.name_pattern)(s, w).map(|p| match p {
        Pattern::Launch => Pattern::Synchronisation,
        Pattern::Synchronisation => Pattern::Launch,
        p => p,
    })),
    wrong!("5.3", counts_overlapping_kernels_once, "Overlapping kernels are summed: time with two kernels counts once.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| k.iter().map(|(a, b)| b - a).sum(), ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once, "A short kernel within a long one ends the covered time, although the long one continues.",
    name_pattern: |s, w| named(s, w, Naming { busy: |k| {
        let (mut sum, mut reached) = (0, 0);
        for &(a, b) in k { sum += b.saturating_sub(a.max(reached)); reached = b; }
        // What is counted twice behind the short one is then too much, or taken off for too little.
        sum.min(k.iter().map(|(a, b)| b - a).sum())
    }, ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once, "Only the longest kernel is counted; all kernels together cover more.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| k.iter().map(|(a, b)| b - a).max().unwrap_or(0), ..NAMING })),
    wrong!("5.3", counts_overlapping_kernels_once, "The time from the start of the first kernel to the end of the last one includes gaps.",
    name_pattern: |s, w| named(s, w, Naming { busy: |k| {
        k.iter().map(|k| k.1).max().unwrap_or(0) - k.iter().map(|k| k.0).min().unwrap_or(0)
    }, ..NAMING })),
    wrong!("5.3", measures_against_wall_time, "The share is relative to the host's spans; it should be relative to the wall time.",
        name_pattern: |s, w| named(s, w, Naming { of_spans: true, ..NAMING })),
    wrong!("5.3", adds_loading_and_copying, "Copying is ignored; it belongs to input, together with loading.",
    name_pattern: |s, w| named(s, w, Naming {
        groups: [(&[Kind::Load], Pattern::Input), NAMING.groups[1], NAMING.groups[2]], ..NAMING
    })),
    wrong!("5.3", adds_loading_and_copying, "Copying is added to waiting; it belongs to input, together with loading.",
    name_pattern: |s, w| named(s, w, Naming {
        groups: [
            (&[Kind::Load], Pattern::Input), (&[Kind::Wait, Kind::Copy], Pattern::Synchronisation), NAMING.groups[2],
        ], ..NAMING
    })),
    wrong!("5.3", is_compute_from_the_threshold_on, "At the threshold itself, the pattern is already compute.",
        name_pattern: |s, w| named(s, w, Naming { above: true, ..NAMING })),
    wrong!("5.3", is_compute_from_the_threshold_on, "The share is rounded to whole per cent.",
    name_pattern: |s, w| {
        let list: Vec<(u64, u64)> = s.iter().filter(|s| s.kind == Kind::Kernel).map(|s| (s.start, s.end)).collect();
        let percent = (100.0 * covered(&list) as f64 / w as f64).round();
        if percent >= 80.0 { Some(Pattern::Compute) } else { (REFERENCE.name_pattern)(s, w) }
    }),
    wrong!("5.3", breaks_ties_in_order, "Of equal times the last one counts; the first of input, synchronisation and launch should.",
        name_pattern: |s, w| named(s, w, Naming { later: true, ..NAMING })),
    wrong!("5.3", breaks_ties_in_order, "Of equal times launch counts first; the order is input, synchronisation, launch.",
    name_pattern: |s, w| named(s, w, Naming {
        groups: [NAMING.groups[2], NAMING.groups[0], NAMING.groups[1]], ..NAMING
    })),
    wrong!("5.3", is_none_without_evidence, "Without a relevant span there is no pattern: None.",
        name_pattern: |s, w| named(s, w, Naming { nothing: Some(Pattern::Input), ..NAMING })),
    wrong!("5.3", is_none_without_evidence,
        "An empty list gives None, but spans of `Kind::Other` alone must give None as well.",
    name_pattern: |s, w| if s.is_empty() || w == 0 {
        None
    } else {
        named(s, w, Naming { nothing: Some(Pattern::Input), ..NAMING })
    }),
    wrong!("5.3", is_none_without_evidence, "A wall time of 0 without a kernel is not compute: None.",
        name_pattern: |s, w| if w == 0 { Some(Pattern::Compute) } else { (REFERENCE.name_pattern)(s, w) }),
    wrong!("5.4", computes_the_limit, "The limit is computed from share; the time that remains is 1 − share.",
        amdahl: |p, w| Amdahl { limit: 1.0 / p, ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", computes_the_limit, "The limit is 1 divided by the share that remains, not that share itself.",
        amdahl: |p, w| Amdahl { limit: 1.0 - p, ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", computes_the_needed_factor, "The part gets the speed-up of the whole; it needs a greater one, because the rest does not change.",
        amdahl: |p, w| Amdahl { needed: (REFERENCE.amdahl)(p, w).needed.map(|_| w), ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", computes_the_needed_factor, "This is the speed-up of the whole if the part becomes `wanted` times as fast; the exercise is the reverse.",
    amdahl: |p, w| Amdahl {
        needed: (REFERENCE.amdahl)(p, w).needed.map(|_| 1.0 / (1.0 - p + p / w)), ..(REFERENCE.amdahl)(p, w)
    }),
    wrong!("5.4", computes_the_needed_factor, "The share and the rest are swapped.",
        amdahl: |p, w| Amdahl { needed: (REFERENCE.amdahl)(1.0 - p, w).needed, ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", is_none_at_the_limit_and_above, "Above the limit, the formula gives a negative factor: return None.",
    amdahl: |p, w| Amdahl {
        needed: Some(if w <= 1.0 { 1.0 } else { p / (1.0 / w - (1.0 - p)) }), ..(REFERENCE.amdahl)(p, w)
    }),
    wrong!("5.4", is_none_at_the_limit_and_above, "At the limit itself, no finite factor is enough: return None.",
    amdahl: |p, w| {
        let room = 1.0 / w - (1.0 - p);
        Amdahl { needed: if w <= 1.0 { Some(1.0) } else { (room >= 0.0).then(|| p / room) }, ..(REFERENCE.amdahl)(p, w) }
    }),
    wrong!("5.4", is_infinite_for_the_whole_run, "If the part is the whole run, the limit is infinite.",
        amdahl: |p, w| Amdahl { limit: if p >= 1.0 { 1.0 } else { 1.0 / (1.0 - p) }, ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", needs_factor_1_without_speed_up, "Without a wanted speed-up, none is needed: 1, not less.",
    amdahl: |p, w| {
        let room = 1.0 / w - (1.0 - p);
        Amdahl { needed: (room > 0.0).then(|| p / room), ..(REFERENCE.amdahl)(p, w) }
    }),
    wrong!("5.4", needs_factor_1_without_speed_up, "Without a wanted speed-up, none is needed: Some(1), not None.",
        amdahl: |p, w| Amdahl { needed: (REFERENCE.amdahl)(p, w).needed.filter(|_| w > 1.0), ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.5", reads_nsys, "Copies are divided by the kernels; divide them by all the device's time, copies included.",
        copy_share: |c| shared(c, Reading { over_kernels: true, ..READING })),
    wrong!("5.5", reads_nsys, "The rows of copies are counted, or their rounded percentages added; add their times.",
        copy_share: |c| shared(c, Reading { percents: true, ..READING })),
    wrong!("5.5", reads_nsys, "Only copies to the device are counted; copies to the host count as well.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("Host-to-Device") || n.contains("HtoD"), ..READING })),
    wrong!("5.5", reads_nvprof, "Copies are named [CUDA memcpy HtoD] by nvprof and [CUDA memcpy Host-to-Device] by nsys: compare the beginning.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("-to-"), ..READING })),
    wrong!("5.5", excludes_host_calls, "Rows of the host (`API calls`) are included; only `GPU activities` belong to the device.",
        copy_share: |c| shared(c, Reading { host: true, ..READING })),
    wrong!("5.5", counts_copies_only, "A kernel with memcpy in its name is not a copy: names of copies begin with [CUDA memcpy.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("memcpy"), ..READING })),
    wrong!("5.5", counts_copies_only, "[CUDA memset] is not a copy.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.starts_with("[CUDA mem"), ..READING })),
    wrong!("5.5", finds_columns_by_their_names, "Columns are found by position; find them by name.",
        copy_share: |c| shared(c, Reading { fixed: true, ..READING })),
    wrong!("5.5", sums_tables_in_their_units, "The line of units is ignored: one table may be in ms, the next in us.",
        copy_share: |c| shared(c, Reading { unit: |_| 1.0, ..READING })),
    wrong!("5.5", sums_tables_in_their_units, "Only the first table is read.",
        copy_share: |c| shared(c, Reading { first: true, ..READING })),
    wrong!("5.5", skips_tables_of_sizes, "A table of sizes is read as one of times: it has no `Time (%)`.",
        copy_share: |c| shared(c, Reading { sizes: true, ..READING })),
    wrong!("5.5", is_none_without_a_time, "0/0 is NaN: without any time the result is None.",
        copy_share: |c| shared(c, Reading { nothing: Some(f64::NAN), ..READING })),
    wrong!("5.5", is_none_without_a_time, "Without any time the share is None, not 0.",
        copy_share: |c| shared(c, Reading { nothing: Some(0.0), ..READING })),
    wrong!("5.6", counts_operations_and_bytes, "A multiplication and an addition count as two operations.",
        matmul_roof: |p, m| roof_by(p, m, |s| (counts(s).0 / 2.0, counts(s).1), |i, r| i < r)),
    wrong!("5.6", counts_operations_and_bytes, "The bytes of the result are missing: it is written.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (counts([a, b, c]).0, a * b + b * c), |i, r| i < r)),
    wrong!("5.6", counts_operations_and_bytes, "Each factor is read once, not once for each number of the result.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (counts([a, b, c]).0, 2.0 * a * b * c + a * c), |i, r| i < r)),
    wrong!("5.6", counts_operations_and_bytes, "This is bytes per FLOP; the intensity is FLOP per byte.",
    matmul_roof: |p, m| {
        let roof = (REFERENCE.matmul_roof)(p, m);
        Roof { intensity: roof.bytes / roof.flops, ..roof }
    }),
    wrong!("5.6", uses_the_width_of_a_number, "A number is assumed to have 4 bytes; `width` has the number of bytes.",
        matmul_roof: |p, m| (REFERENCE.matmul_roof)(&canopy::profile::MatMul { width: 4, ..*p }, m)),
    wrong!("5.6", is_limited_by_memory_below_the_ridge, "The arithmetic limit is used; the memory limit is lower here.",
    matmul_roof: |p, m| {
        let roof = (REFERENCE.matmul_roof)(p, m);
        Roof { attainable: m.flops, seconds: roof.flops / m.flops, ..roof }
    }),
    wrong!("5.6", is_limited_by_memory_below_the_ridge, "Memory traffic and arithmetic run at the same time: the longer of the two counts, not their sum.",
    matmul_roof: |p, m| {
        let roof = (REFERENCE.matmul_roof)(p, m);
        let seconds = roof.flops / m.flops + roof.bytes / m.bytes;
        Roof { seconds, attainable: roof.flops / seconds, ..roof }
    }),
    wrong!("5.6", is_limited_by_arithmetic_above_the_ridge, "The memory limit is used above the ridge: there the arithmetic is the limit.",
    matmul_roof: |p, m| {
        let roof = (REFERENCE.matmul_roof)(p, m);
        Roof { attainable: roof.intensity * m.bytes, seconds: roof.bytes / m.bytes, ..roof }
    }),
    wrong!("5.6", is_limited_by_arithmetic_above_the_ridge, "`memory_bound` is inverted: it is true if the intensity is below the ridge.",
        matmul_roof: |p, m| roof_by(p, m, counts, |i, r| i > r)),
    wrong!("5.6", is_not_memory_bound_at_the_ridge, "At the ridge itself, memory is not the only limit: `memory_bound` is false there.",
        matmul_roof: |p, m| roof_by(p, m, counts, |i, r| i <= r)),
];

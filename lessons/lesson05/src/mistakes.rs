//! Known wrong answers with the cause a student is told.

use canopy::profile::{Amdahl, Kind, Pattern, Roof};
use grader::{Mistake, wrong};

use crate::{Lesson05, REFERENCE, parts::*};

pub const MISTAKES: &[Mistake<Lesson05>] = &[
    wrong!("5.1", takes_off_what_lies_directly_within, "The self time still holds the time of the spans within.",
        totals: |s| added(s, Adding { inclusive: true, ..ADDING })),
    wrong!("5.1", takes_off_what_lies_directly_within,
        "Spans within spans within are taken off as well: only those directly within count, or their time goes twice.",
        totals: |s| added(s, Adding { all_below: true, ..ADDING })),
    wrong!("5.1", takes_off_what_lies_directly_within, "`total` and `own` have changed places.",
        totals: |s| added(s, ADDING).into_iter().map(|t| canopy::profile::Total { total: t.own, own: t.total, ..t }).collect()),
    wrong!("5.1", adds_up_the_spans_of_a_name, "Each span has a row of its own; the spans of a name share one.",
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
    wrong!("5.1", adds_up_the_spans_of_a_name, "A later span replaces the earlier ones of its name; add it to them.",
        totals: |s| added(s, Adding { last: true, ..ADDING })),
    wrong!("5.1", counts_the_time_within_its_own_name_once,
        "Where a name lies within itself its total counts that time twice: the outermost span has it already.",
        totals: |s| added(s, Adding { twice: true, ..ADDING })),
    wrong!("5.1", counts_the_time_within_its_own_name_once, "A span within another of its name is a call all the same.",
        totals: |s| added(s, Adding { outer_calls: true, ..ADDING })),
    wrong!("5.1", takes_spans_in_any_order, "The list was taken to be in order: spans often come when they end, the innermost first.",
        totals: |s| added(s, Adding { as_listed: true, ..ADDING })),
    wrong!("5.1", keeps_threads_apart, "A span holds one of another lane: what runs at the same time does not lie within.",
        totals: |s| added(s, Adding { one_lane: true, ..ADDING })),
    wrong!("5.1", takes_spans_that_touch, "A span that begins or ends with another lies within it all the same.",
        totals: |s| added(s, Adding { strictly: true, ..ADDING })),
    wrong!("5.1", begins_with_the_greatest_self_time, "The rows are in order of their total; the greatest self time comes first.",
        totals: |s| added(s, Adding { order: |a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)), ..ADDING })),
    wrong!("5.1", begins_with_the_greatest_self_time, "The smallest self time comes first; begin with the greatest.",
        totals: |s| added(s, Adding { order: |a, b| a.own.cmp(&b.own).then_with(|| a.name.cmp(&b.name)), ..ADDING })),
    wrong!("5.1", begins_with_the_greatest_self_time, "Of equal self times the names are not in order.",
        totals: |s| added(s, Adding { order: |a, b| b.own.cmp(&a.own).then_with(|| b.name.cmp(&a.name)), ..ADDING })),
    wrong!("5.2", counts_until_the_device_is_done,
        "The clock is read when `work` has returned: that is how long it took to give the work, not to do it. Wait first.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let mut once = || { let start = d.now(); f()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", counts_until_the_device_is_done, "There are two waits in a time; one is enough, and each costs.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        d.wait()?;
        let mut once = || { let start = d.now(); f()?; d.wait()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", counts_until_the_device_is_done, "The wait before a run stands behind the reading of the clock, so it is timed.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        let mut once = || { let start = d.now(); d.wait()?; f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", leaves_out_older_work,
        "What the device was busy with before is in the first time: wait before the clock is first read.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        if w > 0 { d.wait()?; }
        let mut once = || { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", leaves_out_the_warm_up, "The device still warms up when the clock is first read: wait after the warm-up.",
    time_device: |d, w, n, f| {
        d.wait()?;
        for _ in 0..w { f()?; }
        let mut once = || { let start = d.now(); f()?; d.wait()?; Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", leaves_out_the_warm_up, "There is no warm-up: `work` is called `runs` times only.",
        time_device: |d, _, n, f| (REFERENCE.time_device)(d, 0, n, f)),
    wrong!("5.2", leaves_out_the_warm_up, "The warm-up's calls are taken off the runs; they come before them.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, w, n.saturating_sub(w), f)),
    wrong!("5.2", leaves_out_the_warm_up, "The warm-up is timed with the runs.",
        time_device: |d, w, n, f| (REFERENCE.time_device)(d, 0, w + n, f)),
    wrong!("5.2", times_each_run_by_itself, "All runs have the same time, their mean: each is asked by itself.",
    time_device: |d, w, n, f| {
        let times = (REFERENCE.time_device)(d, w, n, f)?;
        Ok(vec![times.iter().sum::<u64>() / n.max(1) as u64; n])
    }),
    wrong!("5.2", times_each_run_by_itself, "The times are counted from the beginning of the first run; each has its own beginning.",
    time_device: |d, w, n, f| {
        let times = (REFERENCE.time_device)(d, w, n, f)?;
        Ok(times.iter().scan(0, |sum, t| { *sum += t; Some(*sum) }).collect())
    }),
    wrong!("5.2", times_each_run_by_itself, "The times are sorted; they are asked in the order of the runs.",
    time_device: |d, w, n, f| {
        let mut times = (REFERENCE.time_device)(d, w, n, f)?;
        times.sort_unstable();
        Ok(times)
    }),
    wrong!("5.2", gives_errors_when_they_surface, "An error of a wait is thrown away: that is where the device's errors surface.",
    time_device: |d, w, n, f| {
        for _ in 0..w { f()?; }
        let _ = d.wait();
        let mut once = || { let start = d.now(); f()?; let _ = d.wait(); Ok(d.now() - start) };
        (0..n).map(|_| once()).collect()
    }),
    wrong!("5.2", gives_errors_when_they_surface, "An error of `work` is thrown away.",
    time_device: |d, w, n, f| (REFERENCE.time_device)(d, w, n, &mut || { let _ = f(); Ok(()) })),
    wrong!("5.3", names_each_pattern, "Much waiting does not mean too much waiting: first see whether the device is busy anyway.",
        name_pattern: |s, w| named(s, w, Naming { busy: |_| 0, ..NAMING })),
    wrong!("5.3", names_each_pattern, "The least of the host's times names the pattern; the greatest does.",
    name_pattern: |s, w| match (REFERENCE.name_pattern)(s, w) {
        Some(Pattern::Compute) => Some(Pattern::Compute),
        None => None,
        _ => {
            let time = |kinds: &[Kind]| s.iter().filter(|s| kinds.contains(&s.kind)).map(|s| s.end - s.start).sum::<u64>();
            NAMING.groups.into_iter().min_by_key(|g| time(g.0)).map(|g| g.1)
        }
    }),
    wrong!("5.3", names_each_pattern, "Waiting and launching have changed places.",
    name_pattern: |s, w| (REFERENCE.name_pattern)(s, w).map(|p| match p {
        Pattern::Launch => Pattern::Synchronisation,
        Pattern::Synchronisation => Pattern::Launch,
        p => p,
    })),
    wrong!("5.3", counts_kernels_that_overlap_once, "Kernels that overlap are counted one by one: a moment with two counts once.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| k.iter().map(|(a, b)| b - a).sum(), ..NAMING })),
    wrong!("5.3", counts_kernels_that_overlap_once, "A short kernel within a long one ends what is covered, though the long one goes on.",
    name_pattern: |s, w| named(s, w, Naming { busy: |k| {
        let (mut sum, mut reached) = (0, 0);
        for &(a, b) in k { sum += b.saturating_sub(a.max(reached)); reached = b; }
        // What is counted twice behind the short one is then too much, or taken off for too little.
        sum.min(k.iter().map(|(a, b)| b - a).sum())
    }, ..NAMING })),
    wrong!("5.3", counts_kernels_that_overlap_once, "Only the longest kernel was taken; together they cover more.",
        name_pattern: |s, w| named(s, w, Naming { busy: |k| k.iter().map(|(a, b)| b - a).max().unwrap_or(0), ..NAMING })),
    wrong!("5.3", counts_kernels_that_overlap_once, "From the first kernel's start to the last one's end is not all busy.",
    name_pattern: |s, w| named(s, w, Naming { busy: |k| {
        k.iter().map(|k| k.1).max().unwrap_or(0) - k.iter().map(|k| k.0).min().unwrap_or(0)
    }, ..NAMING })),
    wrong!("5.3", measures_by_the_wall, "The share is of the host's spans together; it is of the wall, also where nothing was recorded.",
        name_pattern: |s, w| named(s, w, Naming { of_spans: true, ..NAMING })),
    wrong!("5.3", puts_loading_and_copying_together, "Copying counts for nothing; it belongs to input, with loading.",
    name_pattern: |s, w| named(s, w, Naming {
        groups: [(&[Kind::Load], Pattern::Input), NAMING.groups[1], NAMING.groups[2]], ..NAMING
    })),
    wrong!("5.3", puts_loading_and_copying_together, "Copying is counted with waiting; it belongs to input, with loading.",
    name_pattern: |s, w| named(s, w, Naming {
        groups: [
            (&[Kind::Load], Pattern::Input), (&[Kind::Wait, Kind::Copy], Pattern::Synchronisation), NAMING.groups[2],
        ], ..NAMING
    })),
    wrong!("5.3", is_compute_from_the_threshold_on, "At the threshold itself it is compute already.",
        name_pattern: |s, w| named(s, w, Naming { above: true, ..NAMING })),
    wrong!("5.3", is_compute_from_the_threshold_on, "The share was rounded to whole per cent.",
    name_pattern: |s, w| {
        let list: Vec<(u64, u64)> = s.iter().filter(|s| s.kind == Kind::Kernel).map(|s| (s.start, s.end)).collect();
        let percent = (100.0 * covered(&list) as f64 / w as f64).round();
        if percent >= 80.0 { Some(Pattern::Compute) } else { (REFERENCE.name_pattern)(s, w) }
    }),
    wrong!("5.3", breaks_ties_in_order, "Of equal times the last one counts; the first of input, synchronisation, launch does.",
        name_pattern: |s, w| named(s, w, Naming { later: true, ..NAMING })),
    wrong!("5.3", breaks_ties_in_order, "Of equal times launching counts first; the order is input, synchronisation, launch.",
    name_pattern: |s, w| named(s, w, Naming {
        groups: [NAMING.groups[2], NAMING.groups[0], NAMING.groups[1]], ..NAMING
    })),
    wrong!("5.3", says_nothing_of_nothing, "Without a span that says something there is no pattern: None.",
        name_pattern: |s, w| named(s, w, Naming { nothing: Some(Pattern::Input), ..NAMING })),
    wrong!("5.3", says_nothing_of_nothing,
        "An empty list gave None, but spans of `Kind::Other` alone say nothing either.",
    name_pattern: |s, w| if s.is_empty() || w == 0 {
        None
    } else {
        named(s, w, Naming { nothing: Some(Pattern::Input), ..NAMING })
    }),
    wrong!("5.3", says_nothing_of_nothing, "A wall of 0 with no kernel is not compute: there is nothing to go by.",
        name_pattern: |s, w| if w == 0 { Some(Pattern::Compute) } else { (REFERENCE.name_pattern)(s, w) }),
    wrong!("5.4", gives_the_limit, "The limit is 1/share; what stays is the rest, 1 − share.",
        amdahl: |p, w| Amdahl { limit: 1.0 / p, ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", gives_the_limit, "The limit is not the share of the rest, but one over it.",
        amdahl: |p, w| Amdahl { limit: 1.0 - p, ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", gives_the_needed_factor, "The part was asked to become as fast as the whole; it must become much faster, for the rest stays.",
        amdahl: |p, w| Amdahl { needed: (REFERENCE.amdahl)(p, w).needed.map(|_| w), ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", gives_the_needed_factor, "That is how fast the whole becomes when the part becomes `wanted` times as fast; the other way round is asked.",
    amdahl: |p, w| Amdahl {
        needed: (REFERENCE.amdahl)(p, w).needed.map(|_| 1.0 / (1.0 - p + p / w)), ..(REFERENCE.amdahl)(p, w)
    }),
    wrong!("5.4", gives_the_needed_factor, "Share and rest have changed places.",
        amdahl: |p, w| Amdahl { needed: (REFERENCE.amdahl)(1.0 - p, w).needed, ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", gives_none_at_the_limit_and_above, "Above the limit the formula gives a negative factor: there is none.",
    amdahl: |p, w| Amdahl {
        needed: Some(if w <= 1.0 { 1.0 } else { p / (1.0 / w - (1.0 - p)) }), ..(REFERENCE.amdahl)(p, w)
    }),
    wrong!("5.4", gives_none_at_the_limit_and_above, "At the limit itself no finite factor is enough: None.",
    amdahl: |p, w| {
        let room = 1.0 / w - (1.0 - p);
        Amdahl { needed: if w <= 1.0 { Some(1.0) } else { (room >= 0.0).then(|| p / room) }, ..(REFERENCE.amdahl)(p, w) }
    }),
    wrong!("5.4", takes_a_part_that_is_all, "Where the part is all, the limit is infinite.",
        amdahl: |p, w| Amdahl { limit: if p >= 1.0 { 1.0 } else { 1.0 / (1.0 - p) }, ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.4", needs_nothing_for_nothing, "Where nothing is wanted nothing is needed: 1, not less.",
    amdahl: |p, w| {
        let room = 1.0 / w - (1.0 - p);
        Amdahl { needed: (room > 0.0).then(|| p / room), ..(REFERENCE.amdahl)(p, w) }
    }),
    wrong!("5.4", needs_nothing_for_nothing, "Where nothing is wanted nothing is needed: Some(1), not None.",
        amdahl: |p, w| Amdahl { needed: (REFERENCE.amdahl)(p, w).needed.filter(|_| w > 1.0), ..(REFERENCE.amdahl)(p, w) }),
    wrong!("5.5", reads_nsys, "Copies are held against the kernels; they are a share of all, themselves included.",
        copy_share: |c| shared(c, Reading { over_kernels: true, ..READING })),
    wrong!("5.5", reads_nsys, "The rows of copies were counted, or their rounded percents added; add up their times.",
        copy_share: |c| shared(c, Reading { percents: true, ..READING })),
    wrong!("5.5", reads_nsys, "Only copies to the device were counted; those back are copies too.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("Host-to-Device") || n.contains("HtoD"), ..READING })),
    wrong!("5.5", reads_nvprof, "nvprof's copies are called [CUDA memcpy HtoD], nsys's [CUDA memcpy Host-to-Device]: look at the beginning.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("-to-"), ..READING })),
    wrong!("5.5", leaves_the_hosts_calls_out, "Rows of the host (`API calls`) are in it: they take the same time once more, or another.",
        copy_share: |c| shared(c, Reading { host: true, ..READING })),
    wrong!("5.5", counts_copies_only, "A kernel that has memcpy in its name is no copy: names of copies begin with [CUDA memcpy.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("memcpy"), ..READING })),
    wrong!("5.5", counts_copies_only, "[CUDA memset] is no copy.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.starts_with("[CUDA mem"), ..READING })),
    wrong!("5.5", finds_columns_by_their_names, "Columns were taken by their place; find them by their names.",
        copy_share: |c| shared(c, Reading { fixed: true, ..READING })),
    wrong!("5.5", adds_up_tables_in_their_units, "The line of units was passed over: one table may be in ms, the next in us.",
        copy_share: |c| shared(c, Reading { unit: |_| 1.0, ..READING })),
    wrong!("5.5", adds_up_tables_in_their_units, "Only the first table was read.",
        copy_share: |c| shared(c, Reading { first: true, ..READING })),
    wrong!("5.5", passes_over_sizes, "A table of sizes was read as one of times: it has no `Time (%)`.",
        copy_share: |c| shared(c, Reading { sizes: true, ..READING })),
    wrong!("5.5", gives_none_without_a_time, "0/0 is no share: without any time the result is None.",
        copy_share: |c| shared(c, Reading { nothing: Some(f64::NAN), ..READING })),
    wrong!("5.5", gives_none_without_a_time, "Without any time there is no share, not one of 0: None.",
        copy_share: |c| shared(c, Reading { nothing: Some(0.0), ..READING })),
    wrong!("5.6", counts_operations_and_bytes, "A multiplication and an addition are two operations.",
        matmul_roof: |p, m| roof_by(p, m, |s| (counts(s).0 / 2.0, counts(s).1), |i, r| i < r)),
    wrong!("5.6", counts_operations_and_bytes, "The result is written as well: its numbers move too.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (counts([a, b, c]).0, a * b + b * c), |i, r| i < r)),
    wrong!("5.6", counts_operations_and_bytes, "Each factor is read once, not once for every number of the result.",
        matmul_roof: |p, m| roof_by(p, m, |[a, b, c]| (counts([a, b, c]).0, 2.0 * a * b * c + a * c), |i, r| i < r)),
    wrong!("5.6", counts_operations_and_bytes, "Bytes a flop is the other way round: intensity is flops a byte.",
    matmul_roof: |p, m| {
        let roof = (REFERENCE.matmul_roof)(p, m);
        Roof { intensity: roof.bytes / roof.flops, ..roof }
    }),
    wrong!("5.6", takes_the_width_of_a_number, "A number was taken to have 4 bytes; `width` says how many.",
        matmul_roof: |p, m| (REFERENCE.matmul_roof)(&canopy::profile::MatMul { width: 4, ..*p }, m)),
    wrong!("5.6", is_held_by_memory_under_the_slope, "The machine's arithmetic was taken for what it allows; memory allows less here.",
    matmul_roof: |p, m| {
        let roof = (REFERENCE.matmul_roof)(p, m);
        Roof { attainable: m.flops, seconds: roof.flops / m.flops, ..roof }
    }),
    wrong!("5.6", is_held_by_memory_under_the_slope, "Moving and computing go on at the same time: the longer of the two counts, not their sum.",
    matmul_roof: |p, m| {
        let roof = (REFERENCE.matmul_roof)(p, m);
        let seconds = roof.flops / m.flops + roof.bytes / m.bytes;
        Roof { seconds, attainable: roof.flops / seconds, ..roof }
    }),
    wrong!("5.6", is_held_by_arithmetic_past_the_ridge, "The slope goes on past the ridge: there the machine's arithmetic is the limit.",
    matmul_roof: |p, m| {
        let roof = (REFERENCE.matmul_roof)(p, m);
        Roof { attainable: roof.intensity * m.bytes, seconds: roof.bytes / m.bytes, ..roof }
    }),
    wrong!("5.6", is_held_by_arithmetic_past_the_ridge, "`memory_bound` is turned round: it is true where the intensity is below the ridge.",
        matmul_roof: |p, m| roof_by(p, m, counts, |i, r| i > r)),
    wrong!("5.6", is_not_memory_bound_at_the_ridge, "At the ridge itself memory alone is not the limit: `memory_bound` is false there.",
        matmul_roof: |p, m| roof_by(p, m, counts, |i, r| i <= r)),
];

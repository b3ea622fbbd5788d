use canopy::profile::{Kind, Pattern, Span};
use grader::{Verdict, draw, given};

use crate::Lesson05;

/// One stretch of a timeline: kind, lane, start, end.
type Stretch = (Kind, usize, usize, usize);

fn check(answer: &Lesson05, wall: usize, list: &[Stretch], expected: Option<Pattern>) -> Verdict {
    let named = |p: Option<Pattern>| p.map_or("None".to_owned(), |p| p.to_string());
    let shown: Vec<String> = list
        .iter()
        .map(|(kind, lane, start, end)| format!("{} {start}–{end} (lane {lane})", kind.name()))
        .collect();
    let case = given(format!("wall {wall}; {}", shown.join(", ")));
    let spans: Vec<Span> = list
        .iter()
        .map(|&(kind, lane, start, end)| Span::new("x", kind, lane, start as u64, end as u64))
        .collect();
    let got = (answer.name_pattern)(&spans, wall as u64);
    case.require(
        &format!("pattern: {}", named(expected)),
        got == expected,
        named(got),
    )
}

/// On the host, one after the other from 0 on.
fn host(list: &[(Kind, usize)]) -> Vec<Stretch> {
    let mut at = 0;
    let mut next = |&(kind, time): &(Kind, usize)| {
        at += time;
        (kind, 0, at - time, at)
    };
    list.iter().map(&mut next).collect()
}

pub fn recognises_each_pattern(answer: &Lesson05) -> Verdict {
    use Kind::*;
    let mut draw = draw();
    let n = draw.whole(5, 9);
    let cases = [
        (
            Some(Pattern::Launch),
            [(Launch, 70), (Wait, 10), (Load, 12), (Other, 8)],
            30,
        ),
        (
            Some(Pattern::Synchronisation),
            [(Launch, 12), (Wait, 70), (Load, 10), (Other, 8)],
            40,
        ),
        (
            Some(Pattern::Input),
            [(Launch, 10), (Wait, 12), (Load, 70), (Other, 8)],
            25,
        ),
        (
            Some(Pattern::Compute),
            [(Launch, 20), (Wait, 70), (Load, 2), (Other, 8)],
            95,
        ),
    ];
    for (expected, times, busy) in cases {
        let mut list = host(&times.map(|(kind, time)| (kind, n * time)));
        list.push((Kernel, 1, n, n + n * busy - n));
        check(answer, n * 100, &list, expected)?;
    }
    Ok(())
}

pub fn counts_overlapping_kernels_once(answer: &Lesson05) -> Verdict {
    use Kind::*;
    let n = draw().whole(5, 9);
    let host = host(&[(Launch, 30 * n), (Wait, 70 * n)]);
    let with = |kernels: &[(usize, usize, usize)]| {
        let kernels = kernels
            .iter()
            .map(|&(lane, start, end)| (Kernel, lane, start * n, end * n));
        host.iter().copied().chain(kernels).collect::<Vec<Stretch>>()
    };
    let waits = Some(Pattern::Synchronisation);
    // Two streams at the very same time, and one that begins meanwhile: 60 % are covered.
    check(
        answer,
        100 * n,
        &with(&[(1, 10, 60), (2, 10, 60), (1, 30, 70)]),
        waits,
    )?;
    // A gap: 65 %.
    check(answer, 100 * n, &with(&[(1, 60, 95), (1, 0, 30)]), waits)?;
    // One within another, and one that begins meanwhile: 60 % again.
    check(
        answer,
        100 * n,
        &with(&[(2, 30, 70), (1, 10, 60), (2, 20, 40)]),
        waits,
    )?;
    // 90 %, by none of them alone.
    let together = with(&[(1, 0, 60), (2, 10, 20), (2, 50, 90)]);
    check(answer, 100 * n, &together, Some(Pattern::Compute))
}

pub fn measures_against_wall_time(answer: &Lesson05) -> Verdict {
    use Kind::*;
    let n = draw().whole(5, 9);
    // All the host's spans are short, and the kernels cover all of them; but there is much time of no span.
    let list = [
        (Launch, 0, 0, 8 * n),
        (Wait, 0, 8 * n, 12 * n),
        (Kernel, 1, 0, 12 * n),
    ];
    check(answer, 40 * n, &list, Some(Pattern::Launch))?;
    check(answer, 14 * n, &list, Some(Pattern::Compute))
}

pub fn adds_loading_and_copying(answer: &Lesson05) -> Verdict {
    use Kind::*;
    let n = draw().whole(5, 9);
    let list = host(&[(Load, 30 * n), (Copy, 10 * n), (Wait, 25 * n), (Launch, 20 * n)]);
    check(answer, 100 * n, &list, Some(Pattern::Input))?;
    let list = host(&[(Load, 25 * n), (Copy, 20 * n), (Wait, 35 * n), (Launch, 20 * n)]);
    check(answer, 100 * n, &list, Some(Pattern::Input))?;
    let list = host(&[(Launch, 20 * n), (Wait, 35 * n), (Copy, 38 * n)]);
    check(answer, 100 * n, &list, Some(Pattern::Input))
}

pub fn is_compute_from_the_threshold_on(answer: &Lesson05) -> Verdict {
    use Kind::*;
    let wall = 1000 * draw().whole(1, 9);
    let kernels = |busy: usize| {
        let mut list = host(&[(Wait, wall)]);
        list.push((Kernel, 1, 0, busy));
        list
    };
    let busy = wall / 10 * 8;
    check(answer, wall, &kernels(busy - 1), Some(Pattern::Synchronisation))?;
    check(answer, wall, &kernels(busy), Some(Pattern::Compute))
}

pub fn breaks_ties_in_order(answer: &Lesson05) -> Verdict {
    use Kind::*;
    let n = draw().whole(5, 9);
    let first = host(&[(Launch, 10 * n), (Wait, 30 * n), (Load, 30 * n)]);
    check(answer, 100 * n, &first, Some(Pattern::Input))?;
    let all = host(&[(Launch, 20 * n), (Wait, 20 * n), (Copy, 20 * n)]);
    check(answer, 100 * n, &all, Some(Pattern::Input))?;
    let two = host(&[(Launch, 30 * n), (Wait, 30 * n), (Load, 5 * n)]);
    check(answer, 100 * n, &two, Some(Pattern::Synchronisation))
}

pub fn is_none_without_evidence(answer: &Lesson05) -> Verdict {
    let n = draw().whole(5, 9);
    check(answer, 0, &[], None)?;
    check(answer, 100 * n, &[], None)?;
    check(answer, 100 * n, &host(&[(Kind::Other, 70 * n)]), None)
}

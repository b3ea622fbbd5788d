use std::panic::{AssertUnwindSafe, catch_unwind};

use canopy::profile::{Kind, Pattern, Span};
use grader::{Draw, Verdict, draw, given};

use super::refuse::{refuse, two};
use crate::Lesson05;

/// One stretch of a timeline: kind, lane, start, end.
type Stretch = (Kind, usize, usize, usize);

/// A timeline of one of the checks below.
struct Line {
    check: &'static str,
    wall: usize,
    list: Vec<Stretch>,
    expected: Option<Pattern>,
}

impl Line {
    fn shown(&self) -> String {
        let shown: Vec<String> = self
            .list
            .iter()
            .map(|(kind, lane, start, end)| format!("{} {start}–{end} (lane {lane})", kind.name()))
            .collect();
        let spans = if shown.is_empty() {
            "no spans".into()
        } else {
            shown.join(", ")
        };
        format!("wall {}; {spans}", self.wall)
    }

    fn ask(&self, answer: &Lesson05) -> Option<Pattern> {
        let spans: Vec<Span> = self
            .list
            .iter()
            .map(|&(kind, lane, start, end)| Span::new("x", kind, lane, start as u64, end as u64))
            .collect();
        (answer.name_pattern)(&spans, self.wall as u64)
    }
}

/// Whose timelines tell the mistakes apart.
const COMMON: [&str; 5] = [
    "recognises_each_pattern",
    "counts_overlapping_kernels_once",
    "measures_against_wall_time",
    "adds_loading_and_copying",
    "sums_many_short_spans",
];

/// The patterns are so few that many mistakes agree on one timeline. So the results on the timelines of most checks are
/// compared with those of the known mistakes.
fn check(answer: &Lesson05, name: &str) -> Verdict {
    let lines = lines(&mut draw());
    let mut wrong = None;
    for line in lines.iter().filter(|line| line.check == name) {
        let input = line.shown();
        given(&input);
        let got = line.ask(answer);
        if got != line.expected {
            wrong = Some((input, line.expected, got));
            break;
        }
    }
    let Some((input, expected, got)) = wrong else {
        return Ok(());
    };
    let code = |line: &Line| match catch_unwind(AssertUnwindSafe(|| line.ask(answer))) {
        Ok(got) => got.map_or(0.0, |p| 1.0 + f64::from(p as u8)),
        Err(_) => -1.0,
    };
    let named = |p: Option<Pattern>| p.map_or("None".to_owned(), |p| p.to_string());
    let tells = |line: &&Line| line.check == name || COMMON.contains(&line.check);
    let all = lines.iter().filter(tells).map(code).collect();
    given(&input);
    refuse(input, "the pattern", two(named(expected), named(got)), all)
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

/// These on the host, and kernels of (lane, start, end).
fn with(list: &[(Kind, usize)], kernels: &[(usize, usize, usize)]) -> Vec<Stretch> {
    let kernels = kernels
        .iter()
        .map(|&(lane, start, end)| (Kind::Kernel, lane, start, end));
    host(list).into_iter().chain(kernels).collect()
}

/// The timelines of all checks, in units of `n` nanoseconds: most of them last 100.
fn lines(draw: &mut Draw) -> Vec<Line> {
    use Kind::*;
    use Pattern::{Compute, Input, Synchronisation};
    let n = draw.whole(5, 9);
    let mut all = Vec::new();
    let mut add = |check, wall: usize, list: Vec<Stretch>, expected| {
        // The borders of the threshold are exact to a nanosecond.
        let n = if check == "is_compute_from_the_threshold_on" {
            1
        } else {
            n
        };
        let scale = |(kind, lane, start, end)| (kind, lane, start * n, end * n);
        all.push(Line {
            check,
            wall: wall * n,
            list: list.into_iter().map(scale).collect(),
            expected,
        });
    };

    let name = "recognises_each_pattern";
    for (expected, times, busy) in [
        (
            Pattern::Launch,
            [(Launch, 70), (Wait, 10), (Load, 12), (Other, 8)],
            30,
        ),
        (
            Synchronisation,
            [(Launch, 12), (Wait, 70), (Load, 10), (Other, 8)],
            40,
        ),
        (Input, [(Launch, 10), (Wait, 12), (Load, 70), (Other, 8)], 25),
        (Compute, [(Launch, 20), (Wait, 70), (Load, 2), (Other, 8)], 95),
    ] {
        add(name, 100, with(&times, &[(1, 1, busy + 1)]), Some(expected));
    }
    add(
        name,
        100,
        with(&[(Launch, 3), (Wait, 97)], &[(1, 0, 100)]),
        Some(Compute),
    );
    // The device is busy, and the host does nothing that counts.
    add(name, 100, with(&[(Other, 9)], &[(1, 5, 100)]), Some(Compute));
    // Kernels in the host's own lane, and none at all.
    add(
        name,
        100,
        vec![(Kernel, 0, 5, 95), (Load, 0, 0, 5)],
        Some(Compute),
    );
    add(
        name,
        100,
        host(&[(Launch, 30), (Wait, 40)]),
        Some(Synchronisation),
    );

    let name = "counts_overlapping_kernels_once";
    let waits = [(Launch, 30), (Wait, 70)];
    for (kernels, expected) in [
        // Two streams at the very same time, and one that begins meanwhile: 60 % are covered.
        (vec![(1, 10, 60), (2, 10, 60), (1, 30, 70)], Synchronisation),
        // Two that overlap in one stream: 60 %.
        (vec![(1, 10, 60), (1, 30, 70)], Synchronisation),
        // A long one and a short one in another stream; two in turns in one stream.
        (vec![(1, 0, 85), (2, 10, 20)], Compute),
        (vec![(1, 0, 45), (1, 50, 90)], Compute),
        // Two streams in turns: 90 %.
        (vec![(1, 0, 45), (2, 45, 90)], Compute),
        // A gap: 65 %.
        (vec![(1, 60, 95), (1, 0, 30)], Synchronisation),
        // One within another, and one that begins meanwhile: 60 %.
        (vec![(2, 30, 70), (1, 10, 60), (2, 20, 40)], Synchronisation),
        // Two short ones, one after the other, within a long one: 70 %.
        (vec![(1, 10, 80), (2, 20, 30), (2, 40, 75)], Synchronisation),
        // 90 %, by none of them alone.
        (vec![(1, 0, 60), (2, 10, 20), (2, 50, 90)], Compute),
        // 85 % in two pieces.
        (vec![(2, 50, 95), (1, 0, 30), (1, 20, 40)], Compute),
        // 85 % in two streams, of which the first one begins later.
        (vec![(1, 50, 90), (2, 0, 45)], Compute),
        // 85 % and 5 %: the first piece is enough.
        (vec![(1, 0, 85), (2, 95, 100)], Compute),
        // A gap of 30 % behind a short one within a long one.
        (vec![(1, 0, 50), (2, 10, 20), (1, 80, 100)], Synchronisation),
    ] {
        add(name, 100, with(&waits, &kernels), Some(expected));
    }

    let name = "measures_against_wall_time";
    // All the host's spans are short, and the kernels cover all of them; but there is much time of no span.
    let list = with(&[(Launch, 8), (Wait, 4)], &[(1, 0, 12)]);
    add(name, 40, list.clone(), Some(Pattern::Launch));
    add(name, 14, list, Some(Compute));
    // The host does little, and the kernels begin late.
    let late = with(&[(Launch, 5)], &[(1, 60, 90)]);
    add(name, 100, late, Some(Pattern::Launch));

    // All begin late.
    let later = vec![(Wait, 0, 88, 95), (Kernel, 1, 50, 90)];
    add(name, 100, later, Some(Synchronisation));

    let name = "adds_loading_and_copying";
    let between = [(Load, 30), (Copy, 10), (Wait, 25), (Launch, 20)];
    add(name, 100, host(&between), Some(Input));
    let neither_alone = [(Load, 25), (Copy, 20), (Wait, 35), (Launch, 20)];
    add(name, 100, host(&neither_alone), Some(Input));
    let copies = [(Launch, 20), (Wait, 35), (Copy, 38)];
    add(name, 100, host(&copies), Some(Input));
    // The copy engine has a lane of its own.
    let mut engine = host(&[(Wait, 45), (Load, 20)]);
    engine.push((Copy, 2, 10, 40));
    add(name, 100, engine, Some(Input));
    // In the lane of the kernels, and for most of the time.
    let mut stream = with(&[(Wait, 45), (Load, 20)], &[(1, 40, 65)]);
    stream.push((Copy, 1, 10, 40));
    add(name, 100, stream, Some(Input));
    let mut long = host(&[(Wait, 70)]);
    long.push((Copy, 2, 5, 95));
    add(name, 100, long, Some(Input));

    let name = "sums_many_short_spans";
    // The longest span is not of the kind with the greatest sum; most time is of no kind that counts.
    let short = [
        (Wait, 9),
        (Launch, 6),
        (Other, 40),
        (Launch, 6),
        (Load, 8),
        (Launch, 6),
    ];
    add(name, 100, with(&short, &[(1, 2, 30)]), Some(Pattern::Launch));
    let many = [
        (Launch, 15),
        (Wait, 6),
        (Load, 12),
        (Wait, 6),
        (Other, 30),
        (Wait, 6),
    ];
    add(name, 100, with(&many, &[(1, 2, 60)]), Some(Synchronisation));
    let few = [
        (Launch, 4),
        (Wait, 30),
        (Launch, 4),
        (Load, 5),
        (Launch, 4),
        (Load, 5),
    ];
    add(name, 100, with(&few, &[(1, 2, 60)]), Some(Synchronisation));

    // Two threads at the same time: their times are summed.
    let mut threads = host(&[(Wait, 50)]);
    threads.extend([(Load, 1, 5, 40), (Load, 2, 10, 35)]);
    add(name, 100, threads, Some(Input));

    let name = "is_compute_from_the_threshold_on";
    for (wall, busy, expected) in [
        (1000, 796, Synchronisation),
        (1000, 799, Synchronisation),
        (1000, 800, Compute),
        (1000, 801, Compute),
        (1003, 802, Synchronisation),
        (1003, 803, Compute),
        (5_000_000_000, 3_999_999_999, Synchronisation),
        (5_000_000_000, 4_000_000_000, Compute),
    ] {
        let times = [(Wait, wall - wall / 8), (Launch, wall / 8)];
        add(name, wall, with(&times, &[(1, 0, busy)]), Some(expected));
    }

    let name = "breaks_ties_in_order";
    for (times, expected) in [
        (vec![(Launch, 10), (Wait, 30), (Load, 30)], Input),
        (vec![(Copy, 10), (Load, 20), (Wait, 30), (Launch, 5)], Input),
        (vec![(Load, 30), (Launch, 30)], Input),
        (vec![(Launch, 20), (Wait, 20), (Copy, 20)], Input),
        (vec![(Launch, 30), (Wait, 30), (Load, 5)], Synchronisation),
        (vec![(Wait, 30), (Launch, 30)], Synchronisation),
    ] {
        add(name, 100, with(&times, &[(1, 0, 20)]), Some(expected));
    }

    let name = "is_none_without_evidence";
    add(name, 100, vec![], None);
    add(name, 0, vec![], None);
    add(name, 100, host(&[(Other, 70)]), None);
    // The device is busy for less than 80 %, and the host does nothing that counts.
    add(name, 100, with(&[(Other, 70)], &[(1, 0, 60)]), None);
    add(name, 100, with(&[(Wait, 0), (Load, 0)], &[(1, 20, 20)]), None);
    all
}

macro_rules! named {
    ($($name:ident)+) => {
        $(pub fn $name(answer: &Lesson05) -> Verdict {
            check(answer, stringify!($name))
        })+
    };
}

named! {
    recognises_each_pattern counts_overlapping_kernels_once measures_against_wall_time adds_loading_and_copying
    sums_many_short_spans is_compute_from_the_threshold_on breaks_ties_in_order is_none_without_evidence
}

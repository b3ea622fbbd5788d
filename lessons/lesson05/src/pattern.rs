//! 5.3: the pattern of a timeline.

use Kind::{Copy, Kernel, Launch, Load, Other, Wait};
use canopy::profile::{Kind, Span};
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson05, REFERENCE, answers};

/// The wall time and the spans.
type Input = (u64, Vec<Span>);

/// Spans of the host one after the other from 0 on, of (kind, length), and kernels of (lane, start, end).
fn line(wall: u64, host: &[(Kind, u64)], kernels: &[(usize, u64, u64)]) -> Input {
    let mut now = 0;
    let host = host.iter().map(|&(kind, time)| {
        now += time;
        Span::new("host", kind, 0, now - time, now)
    });
    let kernel = |&(lane, start, end)| Span::new("kernel", Kernel, lane, start, end);
    let mut spans: Vec<Span> = host.collect();
    spans.extend(kernels.iter().map(kernel));
    (wall, spans)
}

/// With one more.
fn and(mut input: Input, kind: Kind, lane: usize, start: u64, end: u64) -> Input {
    input.1.push(Span::new("more", kind, lane, start, end));
    input
}

fn named(answer: &Lesson05, (wall, spans): Input) -> Verdict {
    let one = |s: &Span| format!("{} {}–{} (lane {})", s.kind.name(), s.start, s.end, s.lane);
    let shown: Vec<String> = spans.iter().map(one).collect();
    let case = given(format!("wall {wall}; spans: {}", shown.join(", ")));
    let pattern = |of: &Lesson05| format!("{:?}", (of.name_pattern)(&spans, wall));
    let facts = |of: &Lesson05| Facts::default().text("pattern", pattern(of));
    case.same(facts(answer), facts(&REFERENCE))
}

/// The host waits for most of the time.
fn with_kernels<const N: usize>(kernels: [&[(usize, u64, u64)]; N]) -> Vec<Input> {
    kernels
        .map(|kernels| line(100, &[(Launch, 30), (Wait, 70)], kernels))
        .into()
}

pub const CHECKS: &[Check<Lesson05>] = rows! { "5.3";
    by named {
        recognises_each_pattern: "the greatest plain sum of times",
            "It is compute if kernels of any lane cover 0.8 of `wall`, both as f64; otherwise the greatest sum decides." => |_| vec![
                line(100, &[(Launch, 70), (Wait, 10), (Load, 12), (Other, 8)], &[(1, 1, 31)]),
                line(100, &[(Launch, 12), (Wait, 70), (Load, 10), (Other, 8)], &[(1, 1, 41)]),
                line(100, &[(Launch, 10), (Wait, 12), (Load, 70), (Other, 8)], &[(1, 1, 26)]),
                line(100, &[(Launch, 20), (Wait, 70), (Load, 2), (Other, 8)], &[(1, 1, 96)]),
                // The host does nothing that counts.
                line(100, &[(Other, 9)], &[(1, 5, 100)]),
                // Kernels in the host's own lane, and none at all.
                line(100, &[(Load, 5)], &[(0, 5, 95)]),
                line(100, &[(Launch, 30), (Wait, 40)], &[]),
            ];
        counts_overlapping_kernels_once: "Overlapping kernels count once",
            "Sort kernels by start, keep the greatest end so far, and add only time beyond it." => |_| with_kernels([
                // Two streams at the very same time, and one that begins meanwhile: 60 % are covered.
                &[(1, 10, 60), (2, 10, 60), (1, 30, 70)],
                // One within another, and one that begins meanwhile: 60 %.
                &[(2, 30, 70), (1, 10, 60), (2, 20, 40)],
                // Two short ones, one after the other, within a long one: 70 %.
                &[(1, 10, 80), (2, 20, 30), (2, 40, 75)],
                // A gap of 30 % behind a short one within a long one.
                &[(1, 0, 50), (2, 10, 20), (1, 80, 100)],
            ]);
        counts_all_that_kernels_cover: "`Kind::Kernel` spans cover",
            "Add all time in which any kernel runs: sort by start, and keep the greatest end so far." => |_| with_kernels([
                // A long one and a short one in another stream.
                &[(1, 0, 85), (2, 10, 20)],
                // 90 %, by none of them alone.
                &[(1, 0, 60), (2, 10, 20), (2, 50, 90)],
                // 85 % in two pieces.
                &[(2, 50, 95), (1, 0, 30), (1, 20, 40)],
                // 85 % in two streams, of which the first one begins later.
                &[(1, 50, 90), (2, 0, 45)],
                // 85 % and 5 %: the first piece is enough.
                &[(1, 0, 85), (2, 95, 100)],
            ]);
        measures_against_wall_time: "of `wall`",
            "Compare the busy time with `wall`, not with that of any spans." => |_| vec![
                // The kernels cover all of the host's spans, but there is much time of no span.
                line(40, &[(Launch, 8), (Wait, 4)], &[(1, 0, 12)]),
                line(14, &[(Launch, 8), (Wait, 4)], &[(1, 0, 12)]),
                // The kernels begin late, and then all spans do.
                line(100, &[(Launch, 5)], &[(1, 60, 90)]),
                and(line(100, &[], &[(1, 50, 90)]), Wait, 0, 88, 95),
            ];
        adds_loading_and_copying: "`Load` and `Copy` together",
            "Sum all spans of a kind; `Load` and `Copy` together, and a copy is never kernel time." => |_| vec![
                line(100, &[(Load, 14), (Wait, 25), (Load, 16), (Copy, 10), (Launch, 20)], &[]),
                line(100, &[(Launch, 20), (Wait, 35), (Copy, 38)], &[]),
                line(100, &[(Load, 25), (Copy, 20), (Wait, 35), (Launch, 20)], &[]),
                // The copy engine has a lane of its own, or that of the kernels, or copies for most of the time.
                and(line(100, &[(Wait, 45), (Load, 20)], &[]), Copy, 2, 10, 40),
                and(line(100, &[(Wait, 45), (Load, 20)], &[(1, 40, 65)]), Copy, 1, 10, 40),
                and(line(100, &[(Wait, 70)], &[]), Copy, 2, 5, 95),
            ];
        sums_many_short_spans: "the greatest plain sum of times",
            "Add the full times of a kind's spans, also where they overlap; the greatest sum counts. `Other` never does." => |_| vec![
                // The longest span is not of the kind with the greatest sum; most time is of no kind that counts.
                line(100, &[(Wait, 9), (Launch, 6), (Other, 40), (Launch, 6), (Load, 8), (Launch, 6)], &[(1, 2, 30)]),
                line(100, &[(Launch, 15), (Wait, 6), (Load, 12), (Wait, 6), (Other, 30), (Wait, 6)], &[(1, 2, 60)]),
                line(100, &[(Launch, 4), (Wait, 30), (Launch, 4), (Load, 5), (Launch, 4), (Load, 5)], &[(1, 2, 60)]),
                // Two threads at the same time.
                and(and(line(100, &[(Wait, 50)], &[]), Load, 1, 5, 40), Load, 2, 10, 35),
            ];
        is_compute_from_the_threshold_on: "at least `COMPUTE_BOUND`",
            "Compare `busy as f64 >= COMPUTE_BOUND * wall as f64`: round nothing; the threshold is enough." => |_| {
            let near = [
                (1000, 796), (1000, 799), (1000, 800), (1000, 801), (1003, 802), (1003, 803),
                (5_000_000_000, 3_999_999_999), (5_000_000_000, 4_000_000_000),
            ];
            near.map(|(wall, busy)| line(wall, &[(Wait, wall - wall / 8), (Launch, wall / 8)], &[(1, 0, busy)])).into()
        };
        breaks_ties_in_order: "The first of equal sums counts",
            "If two sums are equal, input comes before synchronisation, and both before launch." => |_| vec![
                line(100, &[(Launch, 10), (Wait, 30), (Load, 30)], &[(1, 0, 20)]),
                line(100, &[(Load, 30), (Launch, 30)], &[(1, 0, 20)]),
                line(100, &[(Launch, 20), (Wait, 20), (Copy, 20)], &[(1, 0, 20)]),
                line(100, &[(Wait, 30), (Launch, 30)], &[(1, 0, 20)]),
            ];
        is_none_without_evidence: "all are 0",
            "If all three sums are 0, return None, unless kernels cover enough; 0 ns of kernels are never enough." =>
            |_| vec![
                line(100, &[], &[]),
                line(0, &[], &[]),
                line(100, &[(Other, 90)], &[]),
                line(100, &[(Other, 90)], &[(1, 0, 60)]),
                line(100, &[(Wait, 0), (Load, 0)], &[(1, 20, 20)]),
            ];
    }
};

pub const MISTAKES: &[Mistake<Lesson05>] = mistakes! { "5.3" name_pattern;
    1 "Without kernels there is no pattern here; but the host's spans are evidence too.";
    2 "Overlapping kernels are summed: time with two kernels counts once.";
    3 "Only the end of the kernel before is looked at; one before it may continue longer. Keep the greatest end.";
    4 "The time from the start of the first kernel to the end of the last one includes gaps.";
    5 "The kernels are expected in the order of their starts; sort them.";
    6 "The share is relative to the time of spans, or to the last end; it should be relative to `wall`.";
    7 "Copying is ignored; it belongs to input, together with loading.";
    8 "Of equal sums another one counts; the first of input, synchronisation and launch should.";
};

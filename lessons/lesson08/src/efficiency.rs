//! 8.6: scaling efficiency.

use grader::{Check, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson08, REFERENCE, answers};

/// The seconds on one rank and on all, and how many ranks share the work; `None` in weak scaling.
type Input = (f64, f64, Option<usize>);

fn efficiency(answer: &Lesson08, (one, all, shared_by): Input) -> Verdict {
    let of = |lesson: &Lesson08| match shared_by {
        None => (lesson.weak_efficiency)(one, all),
        Some(ranks) => (lesson.strong_efficiency)(one, all, ranks),
    };
    let case = given(format!(
        "a step takes {one} s on one rank, {all} s on all; these share its work: {shared_by:?}"
    ));
    case.close("efficiency", of(answer), of(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson08>] = rows! { "8.6";
    by efficiency {
        weak_scaling_compares_the_times: "in weak scaling",
            "Divide the time of one rank by that of all, in f64, and round nothing." => |d| {
            let one = d.number(1.0, 9.0);
            // 1/3 is not exact in f32.
            let mut all = vec![(0.3, 0.4, None), (1.0, 3.0, None), (one, one, None)];
            all.extend([1.0, 1e-7, 1e6].map(|unit| (unit * one * d.number(0.01, 0.9), unit * one, None)));
            all
        };
        strong_scaling_divides_by_the_ranks: "share the work",
            "Divide the ideal time, seconds_of_one / ranks, by the measured time, in f64, and round nothing." => |d| {
            let one = d.number(1.0, 9.0);
            let mut all = vec![(9.0, 2.5, Some(4)), (1.0, 1.0, Some(3))];
            for (unit, most) in [(1.0, 64), (1e-7, 4_096), (1e6, 1_000_000)] {
                let (ranks, efficiency) = (d.whole(most / 2, most), d.number(0.01, 0.9));
                all.push((unit * one, unit * one / (ranks as f64 * efficiency), Some(ranks)));
            }
            // One rank may be slower in another run, too.
            all.extend([(2.0, 2.5, Some(1)), (one, one / 7.0, Some(7)), (one, one, Some(1))]);
            all
        };
        may_exceed_one: "may exceed 1", "Do not limit it to 1: a smaller share may fit into a faster cache." => |d| {
            let gains = [d.number(1.05, 1.3), d.number(2.0, 3.0)];
            gains.map(|gain| [(gain, 1.0, None), (4.0 * gain, 1.0, Some(4))]).concat()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson08>] = mistakes! { "8.6" [weak_efficiency, strong_efficiency];
    1 "The efficiency is inverted: a longer step has a lower efficiency.";
    2 "This is the speed-up; the efficiency is the speed-up divided by the number of ranks.";
    3 "The efficiency is limited to 1: it may exceed 1, in weak scaling too.";
    4 "This is a percentage; the efficiency is a fraction, 1 at best.";
};

//! 12.6: calibration.

use grader::{Check, Draw, Mistake, Verdict, given, mistakes, rows};
use kit::shown;

use crate::{Lesson12, REFERENCE, answers};

/// PITs, levels.
type Input = (Vec<f64>, Vec<f64>);

fn shares(answer: &Lesson12, (pits, levels): Input) -> Verdict {
    given(format!("pits {}; levels {}", shown(&pits), shown(&levels))).close(
        "shares",
        &(answer.calibration)(&pits, &levels),
        &(REFERENCE.calibration)(&pits, &levels),
    )
}

/// None is at the end of an interval.
fn pits(d: &mut Draw, count: usize) -> Vec<f64> {
    let mut one = || (d.number(0.0, 1.0) * 1000.0).round() / 1000.0 + 1e-4;
    (0..count).map(|_| one()).collect()
}

pub const CHECKS: &[Check<Lesson12>] = rows! { "12.6";
    by shares {
        returns_shares: "the share of `pits`",
            "Divide the number of PITs u with (1 − c)/2 ≤ u ≤ (1 + c)/2 by the number of all, in f64." => |_| {
            let lists = [
                vec![0.5], vec![0.02], vec![0.4, 0.6, 0.01, 0.99, 0.45, 0.55], vec![0.5, 0.02, 0.5, 0.5, 0.6, 0.6],
            ];
            lists.map(|pits| (pits, vec![0.5])).to_vec()
        };
        counts_the_central_interval: "(1 − c)/2 ≤ u ≤ (1 + c)/2",
            "A PIT u is inside the interval of level c if it is neither below (1 − c)/2 nor above (1 + c)/2." => |d| {
            // On one side of a half, so that a one-sided interval differs.
            let lists = [vec![0.05, 0.15, 0.3, 0.45, 0.02], vec![0.95, 0.85, 0.7, 0.55, 0.98], pits(d, 20)];
            let levels = [0.25, 0.5, 0.75, 0.95];
            lists.iter().flat_map(|pits| levels.map(|level| (pits.clone(), vec![level]))).collect()
        };
        includes_both_ends: "(1 − c)/2 ≤ u ≤ (1 + c)/2",
            "Compare with ≤ at both ends, at every level: a PIT at an end is inside." => |_| vec![
                // Exact in binary. At level 0 there is the middle alone, at level 1 all.
                (vec![0.25, 0.75, 0.75, 0.1, 0.9, 0.4], vec![0.5]),
                (vec![0.5, 0.4, 0.6], vec![0.0]),
                (vec![0.0, 1.0, 0.25, 0.75], vec![1.0]),
                (vec![0.0, 1.0, 0.25, 0.75], vec![0.5]),
            ];
        returns_a_share_for_each_level: "for each level c of `levels`, in their order",
            "Return one share for each level, in the order of `levels`: without levels, an empty list." => |d| {
            let twenty = (1..20).map(|i| f64::from(i) / 20.0).collect();
            let lists = [vec![0.9, 0.1, 0.1, 0.5, 0.7], vec![], vec![0.6], twenty];
            lists.map(|levels| (pits(d, 24), levels)).to_vec()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson12>] = mistakes! { "12.6" calibration;
    1 "The PITs up to the level are counted; a central interval has a lower end, too.";
    2 "The interval of level c is from c/2 to 1 − c/2 here: that has the probability 1 − c.";
    3 "The interval is between 1 − c and c; half of 1 − c is on each side.";
    4 "The numbers of PITs are returned; divide them by how many there are.";
    5 "The division is one of whole numbers, which rounds down to 0: convert both to f64 first.";
};

//! 12.7: the score of a forecast in bins.

use grader::{Check, Mistake, Verdict, given, mistakes, rows};
use kit::shown;

use crate::summary::{Bins, drawn, text};
use crate::{Lesson12, REFERENCE, answers};

/// A forecast, and targets that are compared together: one alone does not tell on which side something is wrong.
type Input = (Bins, Vec<f64>);

fn scores(answer: &Lesson12, (bins, targets): Input) -> Verdict {
    let of = |lesson: &Lesson12| -> Vec<f64> {
        let score = |&y: &f64| (lesson.crps)(&bins.0, &bins.1, y);
        targets.iter().map(score).collect()
    };
    let case = format!("{}, each of the targets {}", text(&bins), shown(&targets));
    given(case)
        .at_scale(1.0)
        .close("CRPS of each", &of(answer), &of(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson12>] = rows! { "12.7";
    by scores {
        accepts_targets_on_edges: "`∫ (F(x) − H(x))² dx` over all x",
            "The score is the sum of w·(a² + a·b + b²)/3 over all bins, with a − 1 and b − 1 above the target. Nothing else is done with it." => |d| {
            let bins = drawn(d, 4);
            bins.0.iter().map(|&edge| (bins.clone(), vec![edge])).collect()
        };
        splits_the_bin_of_the_target: "`∫ (F(x) − H(x))² dx` over all x",
            "Split the bin of the target at the target: F² below it, (F − 1)² above it; between the edges, F is a straight line." => |d| {
            (0..3).map(|_| {
                let (bins, parts) = (drawn(d, 3), [0.25, 0.75, d.number(0.02, 0.1), d.number(0.9, 0.98)]);
                let targets = parts.map(|part| bins.0[1] + part * (bins.0[2] - bins.0[1]));
                (bins, targets.to_vec())
            }).collect()
        };
        integrates_the_squared_difference: "`∫ (F(x) − H(x))² dx` over all x",
            "Add the areas of all bins, each with its width as a factor. Only a target outside adds a distance." => |d| {
            // One bin, and the target in its middle: w/12.
            let mut all = vec![((vec![0.0, 2.0], vec![1.0]), vec![1.0])];
            for count in [3, 5, 2, 9] {
                let bins = drawn(d, count);
                let (low, high) = (bins.0[0], bins.0[count]);
                all.extend((0..4).map(|_| (bins.clone(), vec![d.number(low, high)])));
            }
            // A wide bin with little probability far from the target, and a gap.
            let (wide, p) = (d.number(20.0, 90.0), vec![0.25, 0.5, 0.25]);
            all.push(((vec![0.0, 1.0, 2.5, 2.5 + wide], p.clone()), vec![0.5]));
            all.push(((vec![-wide, 0.0, 1.0, 2.5], p), vec![1.5]));
            all.push(((vec![0.0, 1.0, 5.0, 6.5], vec![0.625, 0.0, 0.375]), vec![3.0]));
            all
        };
        adds_the_distance_outside: "adds its distance",
            "Add the distance from the nearest edge, as it is, to the areas of all bins, which count as well." => |d| {
            [1, 4].map(|count| {
                let bins = drawn(d, count);
                let targets = vec![bins.0[0] - d.number(1.0, 9.0), bins.0[count] + d.number(1.0, 9.0)];
                (bins, targets)
            }).to_vec()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson12>] = mistakes! { "12.7" crps;
    1 "The mean of the squares at both ends is used; for a straight line the integral is w·(a² + a·b + b²)/3.";
    2 "The square at the middle is used; for a straight line the integral is w·(a² + a·b + b²)/3.";
    3 "The integral is not divided by 3.";
    4 "The bin of the target is not split: all of it is taken as below the target.";
    5 "The distance of a target outside the edges is not added.";
};

use grader::{Verdict, draw, given, number};

use super::{shown, summary::Bins};
use crate::Lesson12;

/// F at `x`.
fn cumulated(bins: &Bins, x: f64) -> f64 {
    let part = |e: &[f64]| ((x - e[0]) / (e[1] - e[0])).clamp(0.0, 1.0);
    let parts = bins.edges.windows(2).zip(&bins.probabilities);
    parts.map(|(e, p)| p * part(e)).sum()
}

/// By Simpson's rule between all edges and the target, which is exact for squares of straight lines.
fn by_simpson(bins: &Bins, target: f64) -> f64 {
    let mut at = bins.edges.clone();
    at.push(target);
    at.sort_by(f64::total_cmp);
    let piece = |w: &[f64]| {
        let step = if 0.5 * (w[0] + w[1]) > target { 1.0 } else { 0.0 };
        let square = |x: f64| (cumulated(bins, x) - step).powi(2);
        (w[1] - w[0]) / 6.0 * (square(w[0]) + 4.0 * square(0.5 * (w[0] + w[1])) + square(w[1]))
    };
    at.windows(2).map(piece).sum()
}

fn check(answer: &Lesson12, bins: &Bins, target: f64) -> Verdict {
    let case = given(format!("{}, target {}", bins.text(), number(target))).at_scale(1.0);
    case.close(
        "CRPS",
        (answer.crps)(&bins.edges, &bins.probabilities, target),
        by_simpson(bins, target),
    )
}

pub fn integrates_the_squared_difference(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    // One bin, and the target in its middle: w/12.
    check(answer, &Bins::new(&[0.0, 2.0], &[1.0]), 1.0)?;
    for count in [3, 5, 2, 9] {
        let bins = Bins::drawn(&mut draw, count);
        let (low, high) = (bins.edges[0], bins.edges[count]);
        for _ in 0..4 {
            check(answer, &bins, draw.number(low, high))?;
        }
    }
    Ok(())
}

pub fn splits_the_bin_of_the_target(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for _ in 0..3 {
        let bins = Bins::drawn(&mut draw, 3);
        let shares = [0.25, 0.75, draw.number(0.02, 0.1), draw.number(0.9, 0.98)];
        // At once: one alone does not tell on which side the bin is counted.
        let targets = shares.map(|share| bins.edges[1] + share * (bins.edges[2] - bins.edges[1]));
        each(answer, &bins, &targets)?;
    }
    Ok(())
}

/// Compares the scores of several targets.
fn each(answer: &Lesson12, bins: &Bins, targets: &[f64]) -> Verdict {
    let case = given(format!("{}, each of the targets {}", bins.text(), shown(targets))).at_scale(1.0);
    let scores = |of: &dyn Fn(f64) -> f64| targets.iter().map(|&y| of(y)).collect::<Vec<f64>>();
    let got = scores(&|y| (answer.crps)(&bins.edges, &bins.probabilities, y));
    case.close("CRPS of each", &got, &scores(&|y| by_simpson(bins, y)))
}

pub fn adds_the_distance_outside(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for count in [1, 4] {
        let mut bins = Bins::drawn(&mut draw, count);
        if count == 1 {
            bins.probabilities = vec![1.0];
        }
        // Both at once: one alone does not tell which side is forgotten.
        let far = [draw.number(1.0, 9.0), draw.number(1.0, 9.0)];
        each(
            answer,
            &bins,
            &[bins.edges[0] - far[0], bins.edges[count] + far[1]],
        )?;
    }
    Ok(())
}

pub fn weights_bins_by_their_width(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    // A wide bin with little probability far from the target.
    let wide = draw.number(20.0, 90.0);
    for (edges, target) in [([0.0, 1.0, 2.5, 2.5 + wide], 0.5), ([-wide, 0.0, 1.0, 2.5], 1.5)] {
        check(answer, &Bins::new(&edges, &[0.25, 0.5, 0.25]), target)?;
    }
    // A gap.
    check(
        answer,
        &Bins::new(&[0.0, 1.0, 5.0, 6.5], &[0.625, 0.0, 0.375]),
        3.0,
    )
}

pub fn accepts_targets_on_edges(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let bins = Bins::drawn(&mut draw, 4);
    for &edge in &bins.edges {
        check(answer, &bins, edge)?;
    }
    Ok(())
}

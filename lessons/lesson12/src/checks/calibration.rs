use grader::{Verdict, draw, given};

use super::shown;
use crate::Lesson12;

fn check(answer: &Lesson12, pits: &[f64], levels: &[f64]) -> Verdict {
    let case = given(format!("pits {}; levels {}", shown(pits), shown(levels)));
    let share = |c: &f64| {
        let inside = pits
            .iter()
            .filter(|&&u| 0.5 * (1.0 - c) <= u && u <= 0.5 * (1.0 + c));
        inside.count() as f64 / pits.len() as f64
    };
    let expected: Vec<f64> = levels.iter().map(share).collect();
    case.close("shares", &(answer.calibration)(pits, levels), &expected)
}

fn pits(count: usize) -> Vec<f64> {
    let mut draw = draw();
    let mut one = || (draw.number(0.0, 1.0) * 1000.0).round() / 1000.0 + 1e-4;
    (0..count).map(|_| one()).collect()
}

pub fn counts_the_central_interval(answer: &Lesson12) -> Verdict {
    // On one side of a half, so that a one-sided interval differs.
    check(answer, &[0.05, 0.15, 0.3, 0.45, 0.02], &[0.25, 0.5, 0.75, 0.95])?;
    check(answer, &[0.95, 0.85, 0.7, 0.55, 0.98], &[0.25, 0.5, 0.75, 0.95])?;
    check(answer, &pits(40), &[0.1, 0.3, 0.5, 0.7, 0.9])
}

pub fn includes_both_ends(answer: &Lesson12) -> Verdict {
    // Exact in binary. At level 0 there is the middle alone, at level 1 all.
    check(answer, &[0.25, 0.75, 0.75, 0.1, 0.9, 0.4], &[0.5])?;
    check(answer, &[0.5, 0.4, 0.6], &[0.0])?;
    check(answer, &[0.0, 1.0, 0.25, 0.75], &[1.0, 0.5])
}

pub fn returns_shares(answer: &Lesson12) -> Verdict {
    check(answer, &[0.5], &[0.5])?;
    check(answer, &[0.02], &[0.5])?;
    check(answer, &[0.4, 0.6, 0.01, 0.99, 0.45, 0.55], &[0.5])?;
    check(answer, &[0.5, 0.02, 0.5, 0.5, 0.6, 0.6], &[0.5, 0.1])
}

pub fn keeps_the_order_of_the_levels(answer: &Lesson12) -> Verdict {
    check(answer, &pits(20), &[0.9, 0.1, 0.5, 0.1, 0.7])
}

pub fn accepts_any_number_of_levels(answer: &Lesson12) -> Verdict {
    let pits = pits(30);
    check(answer, &pits, &[])?;
    check(answer, &pits, &[0.6])?;
    let levels: Vec<f64> = (1..20).map(|i| f64::from(i) / 20.0).collect();
    check(answer, &pits, &levels)
}

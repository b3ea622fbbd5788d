//! The likely cause of a wrong answer: the known mistake that gives the same one.

use std::time::Duration;

use crate::{
    Check, Lesson, Mistake, Outcome, Values, run,
    run::quietly,
    stuck,
    tolerance::{Tolerance, greatest, same},
};

/// The cause of the known mistake that fails `check` in the same way as the answer: on the same input, with the same result.
///
/// If the check did not end, the cause follows from the call in which it waits. If several mistakes fail in the same way,
/// it is the cause of the one that agrees with the answer in most other checks of the exercise, or the first of these.
pub fn cause<C: Copy + Send>(
    lesson: &Lesson<C>,
    check: &Check<C>,
    outcome: &Outcome,
    answer: C,
    seed: u64,
) -> Option<&'static str> {
    let short = Duration::from_secs(2);
    let of = |check: &Check<C>, answer: C| run(&check.full_name(), check.run, answer, seed, short);
    quietly(|| {
        likely(
            lesson,
            check,
            outcome,
            |check| of(check, answer),
            |check, mistake| of(check, mistake.answer),
        )
    })
}

/// As [`cause`], for an answer and known mistakes whose outcomes are given.
pub(crate) fn likely<C>(
    lesson: &Lesson<C>,
    check: &Check<C>,
    outcome: &Outcome,
    of_answer: impl Fn(&Check<C>) -> Outcome,
    of_mistake: impl Fn(&Check<C>, &Mistake<C>) -> Outcome,
) -> Option<&'static str> {
    // Running the mistakes until their deadlines would take long, and the call in which it waits says more.
    if let Outcome::Stuck { location, .. } = outcome {
        return location.as_deref().and_then(stuck::why);
    }
    let mistakes = lesson.mistakes().filter(|m| m.exercise == check.exercise);
    let alike: Vec<&Mistake<C>> = mistakes
        .filter(|m| same_end(outcome, &of_mistake(check, m)))
        .collect();
    if let [] | [_] = alike[..] {
        return alike.first().map(|m| m.cause);
    }
    let others = lesson
        .checks
        .iter()
        .filter(|c| c.exercise == check.exercise && c.name != check.name);
    let ends: Vec<(&Check<C>, Outcome)> = others.map(|c| (c, of_answer(c))).collect();
    let likeness = |m: &&&Mistake<C>| {
        ends.iter()
            .filter(|(c, end)| same_end(end, &of_mistake(c, m)))
            .count()
    };
    // `max_by_key` returns the last of equals.
    alike.iter().rev().max_by_key(likeness).map(|m| m.cause)
}

fn same_end(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Passed, Outcome::Passed) => true,
        (Outcome::Wrong(a), Outcome::Wrong(b)) => {
            a.input == b.input
                && a.what == b.what
                && match (&a.got, &b.got) {
                    (Some(a), Some(b)) => same_values(a, b),
                    (None, None) => a.lines == b.lines,
                    _ => false,
                }
        }
        (
            Outcome::Panicked { message, input, .. },
            Outcome::Panicked {
                message: other,
                input: given,
                ..
            },
        ) => message == other && input == given,
        _ => false,
    }
}

fn same_values(a: &Values, b: &Values) -> bool {
    let tolerance = Tolerance::of(b.dtype);
    let size = greatest(b);
    let near = |(&x, &y): (&f64, &f64)| same(x, y, tolerance.allowed(y, size));
    a.shape == b.shape && a.dtype == b.dtype && a.numbers.iter().zip(&b.numbers).all(near)
}

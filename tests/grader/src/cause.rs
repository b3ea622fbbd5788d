//! The likely cause of a wrong answer: the known mistake with the same results.

use std::time::Duration;

use crate::{
    Check, Lesson, Mistake, Outcome, Values, run,
    run::quietly,
    stuck,
    tolerance::{Tolerance, greatest, same},
    verdict::Kind,
};

/// Why an answer may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A known mistake has the same results in all checks of the exercise.
    Likely(&'static str),
    /// A known mistake has the same results in the checks that it fails, and the answer fails others as well; or it is what an
    /// answer that fails this check most often has wrong.
    Perhaps(&'static str),
}

/// The cause of the known mistake that is like the answer: first in all checks of the exercise, then in those that the mistake
/// fails. If there is none, the cause is that of `check`, the first that the answer fails.
///
/// If the check did not end, the cause follows from the call in which it waits.
pub fn cause<C: Copy + Send>(
    lesson: &Lesson<C>,
    check: &Check<C>,
    outcome: &Outcome,
    answer: C,
    seed: u64,
) -> Option<Cause> {
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
) -> Option<Cause> {
    let own = || lesson.checks().filter(|c| c.exercise == check.exercise);
    let default = || {
        let mut earlier = own().take_while(|c| c.name != check.name).peekable();
        let is_first = earlier.peek().is_none();
        // The cause of a check is that of answers which fail it first.
        let fails_earlier = earlier.any(|c| !matches!(of_answer(c), Outcome::Passed | Outcome::NotRun(_)));
        default_cause(check, outcome, is_first, fails_earlier)
    };
    match outcome {
        Outcome::NotRun(_) | Outcome::Passed | Outcome::ToDo(_) => return None,
        // Running the mistakes until their deadlines would take long, and the call in which it waits says more.
        Outcome::Stuck { location, .. } => {
            let waits = location.as_deref().and_then(stuck::why);
            return waits.map(Cause::Likely).or_else(default);
        }
        _ => {}
    }
    let mut alike: Vec<&Mistake<C>> = lesson
        .mistakes()
        .filter(|m| m.exercise == check.exercise && same_end(outcome, &of_mistake(check, m)))
        .collect();
    let mut in_all = alike.clone();
    let others = own().filter(|c| c.name != check.name);
    for other in others {
        if alike.is_empty() {
            break;
        }
        let end = of_answer(other);
        let agrees = |m: &&Mistake<C>| same_end(&end, &of_mistake(other, m));
        in_all.retain(|m| agrees(m));
        alike.retain(|m| matches!(of_mistake(other, m), Outcome::Passed) || agrees(m));
    }
    let known = in_all.first().map(|m| Cause::Likely(m.cause));
    known
        .or(alike.first().map(|m| Cause::Perhaps(m.cause)))
        .or_else(default)
}

/// The cause if no known mistake is like the answer. An error or another shape in the first check of an exercise is no matter of
/// what that check tests; of an answer that fails an earlier check, nothing else is known.
fn default_cause<C>(
    check: &Check<C>,
    outcome: &Outcome,
    is_first: bool,
    fails_earlier: bool,
) -> Option<Cause> {
    let (kind, of_fact) = match outcome {
        Outcome::Wrong(wrong) => (wrong.kind, wrong.cause),
        _ => (Kind::Value, None),
    };
    let general = match kind {
        Kind::Error => Some("An error is returned where a value is expected: its message says why."),
        Kind::Shape => Some("The numbers have another shape than the contract asks for."),
        Kind::Dtype => Some("The numbers have another dtype than the contract asks for."),
        Kind::Value => None,
    };
    let general = general.filter(|_| is_first || fails_earlier);
    let own = (!check.cause.is_empty() && !fails_earlier).then_some(check.cause);
    of_fact.or(general).or(own).map(Cause::Perhaps)
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

//! The likely cause of a wrong answer: the known mistake with the same results.

use std::time::Duration;

use crate::{Check, Lesson, Mistake, Outcome, run, stuck};

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
    let of = |check: &Check<C>, answer: C| {
        let short = Duration::from_secs(2);
        run(&check.full_name(), check.run, answer, seed, short)
    };
    let of_mistake = |check: &Check<C>, mistake: &Mistake<C>| of(check, mistake.answer);
    likely(lesson, check, outcome, |check| of(check, answer), of_mistake)
}

/// As [`cause`], for an answer and known mistakes whose outcomes are given.
pub(crate) fn likely<C>(
    lesson: &Lesson<C>,
    check: &Check<C>,
    outcome: &Outcome,
    of_answer: impl Fn(&Check<C>) -> Outcome,
    of_mistake: impl Fn(&Check<C>, &Mistake<C>) -> Outcome,
) -> Option<Cause> {
    let mut alike = Vec::new();
    match outcome {
        Outcome::NotRun(_) | Outcome::Passed | Outcome::ToDo(_) => return None,
        // Running the mistakes until their deadlines would take long, and the call in which it waits says more.
        Outcome::Stuck { location, .. } => {
            if let Some(why) = location.as_deref().and_then(stuck::why) {
                return Some(Cause::Likely(why));
            }
        }
        _ => {
            let own = lesson.mistakes().filter(|m| m.exercise == check.exercise);
            alike.extend(own.filter(|m| same_end(outcome, &of_mistake(check, m))));
        }
    }
    let others = lesson.checks_of(check.exercise).filter(|c| c.name != check.name);
    let mut in_all = alike.clone();
    for other in others {
        if alike.is_empty() {
            break;
        }
        let end = of_answer(other);
        in_all.retain(|m| same_end(&end, &of_mistake(other, m)));
        alike.retain(|m| {
            let of_mistake = of_mistake(other, m);
            matches!(of_mistake, Outcome::Passed) || same_end(&end, &of_mistake)
        });
    }
    let in_all = in_all.first().map(|m| Cause::Likely(m.cause));
    let perhaps = || alike.first().map(|m| m.cause);
    let default = || default_cause(lesson, check, outcome, of_answer);
    in_all.or_else(|| perhaps().or_else(default).map(Cause::Perhaps))
}

/// The cause if no known mistake is like the answer. An error or another shape in the first check of an exercise is no matter of
/// what that check tests; of an answer that fails an earlier check, nothing else is known, because the cause of a check
/// is that of answers which fail it first.
fn default_cause<C>(
    lesson: &Lesson<C>,
    check: &Check<C>,
    outcome: &Outcome,
    of_answer: impl Fn(&Check<C>) -> Outcome,
) -> Option<&'static str> {
    let earlier = || {
        lesson
            .checks_of(check.exercise)
            .take_while(|c| c.name != check.name)
    };
    let fails_earlier = earlier().any(|c| of_answer(c).failed());
    let (general, of_fact) = match outcome {
        Outcome::Wrong(wrong) => (wrong.general, wrong.cause),
        _ => (None, None),
    };
    let general = general.filter(|_| fails_earlier || earlier().next().is_none());
    let own = Some(check.cause).filter(|cause| !cause.is_empty() && !fails_earlier);
    of_fact.or(general).or(own)
}

fn same_end(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Passed, Outcome::Passed) => true,
        (Outcome::Wrong(a), Outcome::Wrong(b)) => {
            let same = match (&a.got, &b.got) {
                (Some(a), Some(b)) => {
                    a.shape == b.shape && a.dtype == b.dtype && a.differences(b, 0.0).is_empty()
                }
                (None, None) => a.lines == b.lines,
                _ => false,
            };
            same && a.input == b.input && a.what == b.what
        }
        (
            Outcome::Panicked { message, input, .. },
            Outcome::Panicked {
                message: m, input: i, ..
            },
        ) => message == m && input == i,
        _ => false,
    }
}

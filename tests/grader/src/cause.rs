//! The likely cause of a wrong answer: the known mistake with the same results.

use crate::{Check, Lesson, Mistake, Outcome, stuck};

/// Why an answer may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// Whether a known mistake has the same results in all checks of the exercise. If not, one has the same results in the
    /// checks that it fails, and the answer fails others as well; or it is what an answer that fails this check most often
    /// has wrong.
    pub likely: bool,
    pub text: &'static str,
}

/// The cause of the known mistake that is like the answer: first in all checks of the exercise, then in those that the mistake
/// fails. If there is none, the cause is that of `check`, the first that the answer fails. `of` is the outcome of a check, for
/// the answer or for a mistake.
///
/// If the check did not end, the cause follows from the call in which it waits.
pub(crate) fn cause<C>(
    lesson: &Lesson<C>,
    check: &Check<C>,
    outcome: &Outcome,
    of: impl Fn(&Check<C>, Option<&Mistake<C>>) -> Outcome,
) -> Option<Cause> {
    let wrong = outcome.wrong()?;
    // Running the mistakes until their deadlines would take long, and the call in which it waits says more.
    let is_stuck = matches!(outcome, Outcome::Stuck(_));
    if let Some(text) = wrong.at.as_deref().filter(|_| is_stuck).and_then(stuck::why) {
        return Some(Cause { likely: true, text });
    }
    let id = check.exercise;
    let own = lesson.mistakes().filter(|m| m.exercise == id && !is_stuck);
    let alike: Vec<&Mistake<C>> = own.filter(|m| is_like(outcome, &of(check, Some(m)))).collect();
    let mut others: Vec<(&Check<C>, Outcome)> = Vec::new();
    for other in lesson.checks_of(id).filter(|c| c.name != check.name) {
        // No known mistake is like an answer that does not end, and each such check takes long.
        if alike.is_empty() || matches!(others.last(), Some((_, Outcome::Stuck(_)))) {
            break;
        }
        others.push((other, of(other, None)));
    }
    let first = |may_pass: bool| {
        let fits = |mistake: &Mistake<C>, (other, end): &(&Check<C>, Outcome)| {
            let of_mistake = of(other, Some(mistake));
            is_like(end, &of_mistake) || may_pass && matches!(of_mistake, Outcome::Passed)
        };
        let in_all = |mistake: &&&Mistake<C>| others.iter().all(|other| fits(mistake, other));
        alike.iter().find(in_all).map(|mistake| mistake.text)
    };
    // An error or another shape in the first check of an exercise is no matter of what that check tests; of an answer that
    // fails an earlier check, nothing else is known, because the cause of a check is that of answers which fail it first.
    let default = || {
        let mut earlier = lesson.checks_of(id).take_while(|c| c.name != check.name);
        let is_first = lesson.checks_of(id).next().is_some_and(|c| c.name == check.name);
        let fails_earlier = earlier.any(|c| of(c, None).failed());
        let general = wrong.general.filter(|_| fails_earlier || is_first);
        let own = Some(check.cause).filter(|cause| !cause.is_empty() && !fails_earlier);
        wrong.cause.or(general).or(own)
    };
    let in_all = first(false);
    let text = in_all.or_else(|| first(true)).or_else(default)?;
    let likely = in_all.is_some();
    Some(Cause { likely, text })
}

fn is_like(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Passed, Outcome::Passed) => true,
        (Outcome::Wrong(a), Outcome::Wrong(b)) | (Outcome::Panicked(a), Outcome::Panicked(b)) => {
            let same = match (&a.got, &b.got) {
                (Some(a), Some(b)) => {
                    a.shape == b.shape && a.dtype == b.dtype && a.differences(b, 0.0).is_empty()
                }
                (None, None) => a.lines == b.lines,
                _ => false,
            };
            same && a.input == b.input && a.what == b.what
        }
        _ => false,
    }
}

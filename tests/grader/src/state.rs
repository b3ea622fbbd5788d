//! The state of an exercise, from the outcomes of its checks.

use std::collections::BTreeSet;

use crate::{Check, Exercise, Outcome};

/// The state of an exercise whose checks have these states: `right` only if every check passed.
pub fn worst<'a>(words: impl Iterator<Item = &'a str>) -> &'static str {
    let words: BTreeSet<&str> = words.collect();
    let mut bad = ["wrong", "to do", "not run"].into_iter();
    bad.find(|word| words.contains(word)).unwrap_or("right")
}

/// The function of an exercise to mend or to write next: the one that the first wrong check looks at, or else the first check
/// that is to do.
pub(crate) fn left<'a, C>(exercise: &'a Exercise, own: &[(&Check<C>, Outcome)]) -> &'a str {
    let first = |state| own.iter().find(|(_, outcome)| outcome.word() == state);
    let check = first("wrong").or(first("to do"));
    exercise.looked_at(check.map_or("", |(check, _)| check.name))
}

/// What to say of an exercise that is to do: which function, if another is written; or the other exercise that it calls.
pub(crate) fn so_far<C>(exercise: &Exercise, own: &[(&Check<C>, Outcome)]) -> String {
    let id = &exercise.id;
    for (check, outcome) in own {
        if let Outcome::ToDo(Some(other)) = outcome
            && other != id
        {
            let function = exercise.looked_at(check.name);
            return format!("{id}: `{function}` calls the function of {other}, which is to do.\n\n");
        }
    }
    if own.iter().all(|(_, outcome)| outcome.word() != "right") {
        return String::new();
    }
    let left = left(exercise, own);
    format!("{id}: what you have written so far passes its checks. `{left}` is to do.\n\n")
}

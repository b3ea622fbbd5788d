//! The state of an exercise, from the outcomes of its checks.

use std::collections::BTreeSet;

use crate::{Check, Exercise, Outcome};

/// The state of an exercise whose checks have these states: `right` only if every check passed.
pub fn worst<'a>(words: impl Iterator<Item = &'a str>) -> &'static str {
    let words: BTreeSet<&str> = words.collect();
    let mut bad = ["wrong", "to do", "not run"].into_iter();
    bad.find(|word| words.contains(word)).unwrap_or("right")
}

/// The function of an exercise to write or mend next: the one that the first wrong check looks at, or else one of which no
/// check has passed yet.
pub(crate) fn left<'a, C>(exercise: &'a Exercise, own: &[(&Check<C>, &Outcome)]) -> &'a str {
    let of = |state: &str| -> Vec<&'a str> {
        let own = own.iter().filter(|(_, outcome)| outcome.word() == state);
        own.map(|(check, _)| exercise.looked_at(check.name)).collect()
    };
    let (wrong, to_do, right) = (of("wrong"), of("to do"), of("right"));
    let open = to_do.iter().find(|function| !right.contains(function));
    let first = wrong.first().or(open).or(to_do.first());
    first.copied().unwrap_or(&exercise.function)
}

/// What to say of an exercise that is to do: which function, if another is written; or the other exercise that it calls.
pub(crate) fn so_far<C>(exercise: &Exercise, own: &[(&Check<C>, &Outcome)]) -> String {
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

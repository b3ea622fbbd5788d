//! The state of an exercise, from the outcomes of its checks.

use std::collections::BTreeSet;

use crate::{Check, Exercise, Outcome};

pub(crate) fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "right",
        Outcome::ToDo(_) => "to do",
        Outcome::NotRun(_) => "not run",
        _ => "wrong",
    }
}

/// The function of an exercise to write or mend next: the one that the first wrong check looks at, or else one of which no
/// check has passed yet.
pub(crate) fn left<'a, C>(exercise: &'a Exercise, own: &[(&Check<C>, &Outcome)]) -> &'a str {
    let of = |state: &str| -> Vec<&'a str> {
        let own = own.iter().filter(|(_, outcome)| word(outcome) == state);
        own.map(|(check, _)| exercise.looked_at(check.name)).collect()
    };
    let (wrong, to_do, right) = (of("wrong"), of("to do"), of("right"));
    let open = to_do.iter().find(|function| !right.contains(function));
    let first = wrong.first().or(open).or(to_do.first());
    first.copied().unwrap_or(&exercise.function)
}

/// The state of an exercise whose checks have these states: `right` only if every check passed.
pub fn worst<'a>(words: impl Iterator<Item = &'a str>) -> &'static str {
    let words: BTreeSet<&str> = words.collect();
    let mut bad = ["wrong", "to do", "not run"].into_iter();
    bad.find(|word| words.contains(word)).unwrap_or("right")
}

/// What to say of an exercise that is to do: which function, if another is written; or the other exercise that it calls.
pub(crate) fn so_far<C>(exercise: &Exercise, own: &[(&Check<C>, &Outcome)]) -> Option<String> {
    let id = &exercise.id;
    for (check, outcome) in own {
        if let Outcome::ToDo(Some(other)) = outcome
            && other != id
        {
            let function = exercise.looked_at(check.name);
            return Some(format!(
                "{id}: `{function}` calls the function of {other}, which is to do."
            ));
        }
    }
    let any_right = own.iter().any(|(_, o)| matches!(o, Outcome::Passed));
    let left = left(exercise, own);
    any_right.then(|| format!("{id}: what you have written so far passes its checks. `{left}` is to do."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exercise_that_calls_one_that_is_to_do_says_so() {
        let exercise = Exercise {
            id: "9.4".into(),
            looks_at: [("sends".to_owned(), "backward".to_owned())].into(),
            ..Exercise::default()
        };
        let checks = ["gathers", "sends"].map(|name| Check {
            exercise: "9.4",
            name,
            promise: "",
            cause: "",
            run: |_: &()| Ok(()),
        });
        let said = |called: Option<&str>| {
            let to_do = Outcome::ToDo(called.map(String::from));
            let own = [(&checks[0], &Outcome::Passed), (&checks[1], &to_do)];
            so_far(&exercise, &own).unwrap()
        };
        assert_eq!(
            said(Some("9.3")),
            "9.4: `backward` calls the function of 9.3, which is to do."
        );
        assert!(said(None).ends_with("`backward` is to do."));
    }
}

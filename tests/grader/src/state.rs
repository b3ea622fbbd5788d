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
pub(crate) fn left<'a, C>(exercise: &'a Exercise, own: &[(&&Check<C>, &Outcome)]) -> &'a str {
    let of = |word_of: &str| -> Vec<&'a str> {
        let own = own.iter().filter(|(_, outcome)| word(outcome) == word_of);
        own.map(|(check, _)| exercise.looked_at(check.name)).collect()
    };
    let (wrong, to_do, right) = (of("wrong"), of("to do"), of("right"));
    let open = to_do.iter().find(|function| !right.contains(function));
    wrong
        .first()
        .or(open)
        .or(to_do.first())
        .copied()
        .unwrap_or(&exercise.function)
}

/// The state of an exercise: `right` only if every check passed.
pub(crate) fn state<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> &'static str {
    worst(outcomes.map(word))
}

/// The state of an exercise whose checks have these states.
pub fn worst<'a>(words: impl Iterator<Item = &'a str>) -> &'static str {
    let words: BTreeSet<&str> = words.collect();
    ["wrong", "to do", "not run"]
        .into_iter()
        .find(|w| words.contains(w))
        .unwrap_or("right")
}

/// What to say of an exercise that is to do: which function, if another is written; or the other exercise that it calls.
pub(crate) fn so_far<C>(exercise: &Exercise, own: &[(&&Check<C>, &Outcome)]) -> Option<String> {
    let id = &exercise.id;
    let called = own.iter().find_map(|(check, outcome)| match outcome {
        Outcome::ToDo(Some(other)) if other != id => Some((exercise.looked_at(check.name), other)),
        _ => None,
    });
    if let Some((function, other)) = called {
        return Some(format!(
            "{id}: `{function}` calls the function of {other}, which is to do."
        ));
    }
    let any_right = own.iter().any(|(_, o)| matches!(o, Outcome::Passed));
    let left = left(exercise, own);
    any_right.then(|| format!("{id}: what you have written so far passes its checks. `{left}` is to do."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DEADLINE, Verdict, run};

    /// Writes the second of two functions, which calls that of exercise 9.3.
    fn calls(_: &()) -> Verdict {
        panic!("not yet implemented: 9.3: reduce-scatter, divide")
    }

    fn own(_: &()) -> Verdict {
        panic!("not yet implemented: the rest")
    }

    #[test]
    fn an_exercise_that_calls_one_that_is_to_do_says_so() {
        let exercise = Exercise {
            id: "9.4".into(),
            title: String::new(),
            points: 1,
            function: "forward".into(),
            looks_at: [("sends".to_owned(), "backward".to_owned())].into(),
            solution: String::new(),
            answer: String::new(),
            hints: Vec::new(),
        };
        let check = |name, run| Check {
            cause: "",
            exercise: "9.4",
            name,
            promise: "",
            run,
        };
        let said = |run_: fn(&()) -> Verdict| {
            let checks = [check("gathers", |_: &()| Ok(())), check("sends", run_)];
            let outcomes = checks.each_ref().map(|c| run(c.name, c.run, (), 1, DEADLINE));
            let references = checks.each_ref();
            let own: Vec<(&&Check<()>, &Outcome)> = references.iter().zip(&outcomes).collect();
            assert_eq!(state(outcomes.iter()), "to do");
            so_far(&exercise, &own).unwrap()
        };
        assert_eq!(
            said(calls),
            "9.4: `backward` calls the function of 9.3, which is to do."
        );
        assert!(said(own).ends_with("`backward` is to do."));
    }
}

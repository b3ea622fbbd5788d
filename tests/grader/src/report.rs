//! The report on one check that did not pass: about ten lines.

use crate::{
    DEADLINE, Exercise, Outcome, Wrong,
    cause::Cause,
    tell::{Ink, WIDTH, labelled, paragraph, wrap},
};

/// The text: the check as a sentence, the sentence of the exercise that is `asked`, the outcome, and its cause.
pub(crate) fn report(
    ink: Ink,
    exercise: &Exercise,
    chapter: &str,
    check: &str,
    asked: &str,
    outcome: &Outcome,
    cause: Option<Cause>,
) -> String {
    let stuck = format!("did not end within {} s", DEADLINE.as_secs());
    let (word, wrong) = match outcome {
        Outcome::Wrong(wrong) => ("failed", &**wrong),
        Outcome::Panicked(wrong) => ("panicked", &**wrong),
        Outcome::Stuck(wrong) => (&*stuck, &**wrong),
        _ => ("not run", &Wrong::default()),
    };
    let (id, title) = (&exercise.id, &exercise.title);
    let mut out = ink.bold(&format!("{id} {title}")) + "\n";
    for line in wrap(&format!("{word}: {check}"), WIDTH - 2) {
        out += &format!("  {}\n", ink.red(&line));
    }
    let mut parts = vec![
        ("asked", asked),
        ("given", &wrong.input),
        ("compared", &wrong.what),
    ];
    parts.extend(
        wrong
            .lines
            .iter()
            .map(|line| line.split_at_checked(10).unwrap_or(("", line))),
    );
    parts.push(("at", wrong.at.as_deref().unwrap_or_default()));
    match outcome {
        Outcome::NotRun(why) => parts.push(("because", why)),
        Outcome::Stuck(_) => parts.push(("or", "The machine is busy: then check this exercise alone again.")),
        _ => {}
    }
    for (label, text) in parts {
        let mut lines = wrap(text, WIDTH - 15);
        if lines.len() > 4 && label != "asked" {
            lines.truncate(4);
            lines[3].push_str(" …");
        }
        if !text.is_empty() {
            out += &labelled(label.trim_end(), &lines);
        }
    }
    if let Some(cause) = cause {
        let label = if cause.likely { "likely" } else { "perhaps" };
        let lines = wrap(cause.text, WIDTH - 15);
        out += &labelled(label, &Vec::from_iter(lines.iter().map(|line| ink.yellow(line))));
    }
    let read = format!("book/src/{chapter}#{}", exercise.anchor());
    out + &paragraph("hint", &format!("cargo course hint {id}")) + &paragraph("read", &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;

    #[test]
    fn every_line_stays_within_eighty_columns() {
        let long = "word ".repeat(60) + &"x".repeat(300);
        let expected = Values::tensor(vec![1.23456e-9; 300], &[3, 100], "f32");
        let got = Values::tensor(vec![-9.8e20; 300], &[3, 100], "f32");
        let wrong = crate::given(&long).close(&long, got, expected);
        let mut wrong = wrong.expect_err("they differ");
        wrong.at = Some(long.clone());
        let (exercise, ink) = (Exercise::default(), Ink { colour: false });
        let (likely, text) = (true, &*long.clone().leak());
        for outcome in [Outcome::Wrong(wrong), Outcome::NotRun(long.clone())] {
            let cause = Some(Cause { likely, text });
            let text = report(ink, &exercise, "01.md", &long, &long, &outcome, cause);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert!(!text.contains('\x1b'));
        }
    }
}

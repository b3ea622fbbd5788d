//! The report on one check that did not pass: about ten lines.

use console::style;

use crate::{
    DEADLINE, Exercise, Outcome, Wrong,
    cause::Cause,
    tell::{WIDTH, coloured, heading, labelled, wrap},
};

/// The text: the check as a sentence, the sentence of the exercise that is `asked`, the outcome, and its cause.
pub(crate) fn report(
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
    let mut out = heading(&exercise.name());
    for line in wrap(&format!("{word}: {check}"), WIDTH - 2) {
        out += &format!("  {}\n", coloured("wrong", line));
    }
    let (input, at) = (&*wrong.input, wrong.at.as_deref().unwrap_or_default());
    let mut parts = vec![("asked", asked), ("given", input), ("compared", &wrong.what)];
    let with_label = |line| str::split_at_checked(line, 10).unwrap_or(("", line));
    parts.extend(wrong.lines.iter().map(|line| with_label(line)));
    parts.push(("at", at));
    match outcome {
        Outcome::NotRun(why) => parts.push(("because", why)),
        Outcome::Stuck(_) => parts.push(("or", "The machine is busy: then check this exercise alone again.")),
        _ => {}
    }
    let hint = format!("cargo course hint {}", exercise.id);
    let read = format!("book/src/{chapter}#{}", exercise.anchor());
    let likely = cause.map_or("", |cause| if cause.likely { "likely" } else { "perhaps" });
    let why = cause.map_or_else(String::new, |cause| style(cause.text).yellow().to_string());
    parts.extend([(likely, &*why), ("hint", &hint), ("read", &read)]);
    for (label, text) in parts.into_iter().filter(|(_, text)| !text.is_empty()) {
        let mut lines = wrap(text, WIDTH - 15);
        if lines.len() > 4 && !["asked", likely].contains(&label) {
            lines.truncate(4);
            lines[3].push_str(" …");
        }
        out += &labelled(label.trim_end(), &lines);
    }
    out
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
        let exercise = Exercise::default();
        let (likely, text) = (true, &*long.clone().leak());
        for outcome in [Outcome::Wrong(wrong), Outcome::NotRun(long.clone())] {
            let cause = Some(Cause { likely, text });
            let text = report(&exercise, "01.md", &long, &long, &outcome, cause);
            let mut widths = text.lines().map(console::measure_text_width);
            assert!(widths.all(|width| width <= WIDTH), "{text}");
        }
    }
}

//! The kill matrix: which check catches which known mistake.

use std::{fmt::Write, time::Duration};

use anyhow::Result;

use crate::{Lesson, Outcome, run};

/// A Markdown table for each exercise of a lesson, with a row for each mistake and a column for each check: ● is a check
/// that catches the mistake.
///
/// # Errors
/// Those of the manifest.
pub fn matrix<C: Copy + Send>(lesson: &Lesson<C>) -> Result<String> {
    let manifest = lesson.manifest()?;
    let mut out = format!("## Lesson {} · {}\n\n", manifest.lesson, manifest.title);
    for exercise in &manifest.exercises {
        let checks: Vec<_> = lesson.checks().filter(|c| c.exercise == exercise.id).collect();
        let _ = writeln!(out, "### {} {}\n", exercise.id, exercise.title);
        let heads: Vec<String> = checks.iter().map(|c| cell(&c.sentence())).collect();
        let _ = writeln!(out, "| known mistake | {} |", heads.join(" | "));
        let _ = writeln!(out, "|---|{}", ":-:|".repeat(checks.len()));
        for mistake in lesson.mistakes().filter(|m| m.exercise == exercise.id) {
            let _ = write!(out, "| {} |", cell(mistake.cause));
            for check in &checks {
                let outcome = run(
                    &check.full_name(),
                    check.run,
                    mistake.answer,
                    1,
                    Duration::from_secs(2),
                );
                let sign = match outcome {
                    Outcome::Passed | Outcome::NotRun(_) => " ",
                    _ => "●",
                };
                let _ = write!(out, " {sign} |");
            }
            out.push('\n');
        }
        out.push('\n');
    }
    Ok(out)
}

/// A cell of a Markdown table, which `|` would end.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_bar_does_not_end_a_cell() {
        assert_eq!(super::cell("`|x|` is not taken"), "`\\|x\\|` is not taken");
    }
}

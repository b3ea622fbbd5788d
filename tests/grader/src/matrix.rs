//! The kill matrix: which check catches which known mistake.

use std::{fmt::Write, time::Duration};

use anyhow::Result;

use crate::{Lesson, Outcome, run};

/// The matrix as a page of the book, of what [`matrix`] says of each lesson.
pub fn matrix_page(lessons: &[String]) -> String {
    let head = "# The kill matrix

A grader that passes wrong answers teaches wrong things. So every exercise comes with answers that are known to be wrong,
most of them mistakes that somebody will make, and every check must catch some of them. ● is the check that a mistake must
fail by, ○ another that it fails as well, at one seed of the drawn inputs. The left column is what a student is told.

Written by `cargo course matrix --write`; `cargo test -p proof` holds that it is up to date.
";
    let mut page = head.to_owned();
    for lesson in lessons {
        let _ = write!(page, "\n{}\n", lesson.trim_end());
    }
    page
}

/// A Markdown table for each exercise of a lesson: mistakes down, checks across; ● the check that must catch it, ○ another
/// that does as well.
///
/// # Errors
/// Those of the manifest.
pub fn matrix<C: Copy + Send>(lesson: &Lesson<C>) -> Result<String> {
    let manifest = lesson.manifest()?;
    let mut out = format!("## Lesson {} · {}\n\n", manifest.lesson, manifest.title);
    for exercise in &manifest.exercises {
        let checks: Vec<_> = lesson
            .checks
            .iter()
            .filter(|c| c.exercise == exercise.id)
            .collect();
        let _ = writeln!(out, "### {} {}\n", exercise.id, exercise.title);
        let heads: Vec<String> = checks.iter().map(|c| c.sentence()).collect();
        let _ = writeln!(out, "| known mistake | {} |", heads.join(" | "));
        let _ = writeln!(out, "|---|{}", ":-:|".repeat(checks.len()));
        for mistake in lesson.mistakes.iter().filter(|m| m.exercise == exercise.id) {
            let _ = write!(out, "| {} |", mistake.cause);
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
                    _ if check.name == mistake.caught_by => "●",
                    _ => "○",
                };
                let _ = write!(out, " {sign} |");
            }
            out.push('\n');
        }
        out.push('\n');
    }
    Ok(out)
}

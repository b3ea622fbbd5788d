//! The kill matrix: which check catches which known mistake.

use std::fmt::Write;

use anyhow::Result;

use crate::Lesson;

/// A Markdown table for each exercise of a lesson, with a row for each mistake and a column for each check: ● is a check
/// that catches the mistake.
///
/// # Errors
/// Those of the manifest.
pub fn matrix<C: Copy + Send>(lesson: &Lesson<C>) -> Result<String> {
    let manifest = lesson.manifest()?;
    let mut out = format!("## Lesson {} · {}\n\n", manifest.lesson, manifest.title);
    for exercise in &manifest.exercises {
        let checks: Vec<_> = lesson.checks_of(&exercise.id).collect();
        let _ = writeln!(out, "### {} {}\n", exercise.id, exercise.title);
        let heads: Vec<String> = checks.iter().map(|c| c.sentence()).collect();
        let _ = writeln!(out, "| known mistake | {} |", heads.join(" | "));
        let _ = writeln!(out, "|---|{}", ":-:|".repeat(checks.len()));
        for mistake in lesson.mistakes().filter(|m| m.exercise == exercise.id) {
            let _ = write!(out, "| {} |", mistake.cause.replace('|', "\\|"));
            for check in &checks {
                let fails = lesson.outcome(check, mistake.answer, 1).failed();
                let sign = if fails { "●" } else { " " };
                let _ = write!(out, " {sign} |");
            }
            out.push('\n');
        }
        out.push('\n');
    }
    Ok(out)
}

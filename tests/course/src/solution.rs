//! canopy's own function or kernel for an exercise, for a student who has solved it or gives up.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use console::style;
use grader::{
    Exercise, item,
    progress::{self, Progress},
    tell::heading,
};

use crate::lessons::{self, Lesson};

/// Returns the solution of `id` if the student may see it, and records if the student gave up.
pub fn solution(root: &Path, lessons: &[Lesson], id: &str, give_up: bool) -> Result<String> {
    let (lesson, exercise) = lessons::find(lessons, id)?;
    let progress = Progress::load();
    let right = progress.state(&exercise.id) == "right";
    if !right && !give_up && !progress.given_up.contains(&exercise.id) {
        bail!(
            "{0} {1} is not right yet.\n\n  check    cargo test -p lesson{2} {0}\n  \
             hint     cargo course hint {0}\n  give up  cargo course solution {0} --give-up   (your progress records this)",
            exercise.id,
            exercise.title,
            lesson.manifest.lesson
        );
    }
    let text = text(root, exercise)?;
    if !right && give_up {
        progress::change(|p| p.given_up.insert(exercise.id.clone()))
            .context("your progress could not be saved")?;
    }
    Ok(text)
}

/// The function with its file and line, then the functions of the same file that it calls; of a kernel, its file.
fn text(root: &Path, exercise: &Exercise) -> Result<String> {
    let (file, answer) = (&exercise.solution, &exercise.answer);
    let source = fs::read_to_string(root.join(file)).with_context(|| format!("{file} cannot be read"))?;
    let lines: Vec<&str> = source.lines().collect();
    let whole = file.ends_with(".cu").then_some(0..lines.len());
    let mut parts = Vec::from_iter(whole.or_else(|| item(&source, answer)));
    ensure!(!parts.is_empty(), "`fn {answer}` was not found in {file}");
    let mut out = heading(&exercise.name());
    let mut next = 0;
    while let Some(part) = parts.get(next).cloned() {
        next += 1;
        out += &style(format!("{file}:{}", part.start + 1)).dim().to_string();
        out += &format!("\n\n{}\n\n", lines[part.clone()].join("\n"));
        // A word before a parenthesis may be the name of a function.
        let ends = lines[part].iter().flat_map(|line| line.split('(').rev().skip(1));
        let names = ends.filter_map(|code| code.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next());
        for called in names.filter_map(|name| item(&source, name)) {
            if !parts.iter().any(|part| part.contains(&called.start)) {
                parts.push(called);
            }
        }
    }
    out.pop();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use grader::paths;

    use super::*;

    #[test]
    fn every_solution_is_found_where_the_lesson_says_with_the_functions_that_it_calls() {
        let root = paths::root().unwrap();
        let lessons = lessons::all(&root).unwrap();
        for (_, exercise) in lessons::exercises(&lessons) {
            let text = text(&root, exercise).unwrap();
            let is_found = |word: &str| text.contains(&format!("{word} {}", exercise.answer));
            assert!(is_found("fn") || is_found("void"), "{text}");
            assert!(text.ends_with("\n}\n"), "{text}");
            if exercise.answer == "momentum_step" {
                assert_eq!(text.matches("fn descend(").count(), 1, "{text}");
            }
        }
    }
}

//! canopy's own function or kernel for an exercise, for a student who has solved it or gives up.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use grader::{
    Exercise,
    progress::{self, Progress},
    tell::Ink,
};

use crate::{
    extract,
    lessons::{self, Lesson},
};

/// Returns the solution of `id` if the student may see it, and records if the student gave up.
pub fn solution(root: &Path, lessons: &[Lesson], id: &str, give_up: bool, ink: Ink) -> Result<String> {
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
    let text = text(root, exercise, ink)?;
    if !right && give_up {
        progress::change(|p| p.given_up.insert(exercise.id.clone()))
            .context("your progress could not be saved")?;
    }
    Ok(text)
}

/// The function with its file and line, then the functions of the same file that it calls; of a kernel, its file.
fn text(root: &Path, exercise: &Exercise, ink: Ink) -> Result<String> {
    let Exercise {
        id,
        title,
        solution: file,
        answer,
        ..
    } = exercise;
    let source = fs::read_to_string(root.join(file)).with_context(|| format!("{file} cannot be read"))?;
    let mut out = ink.bold(&format!("{id} {title}")) + "\n";
    if file.ends_with(".cu") {
        return Ok(out + &format!("{}\n\n{}", ink.faint(file), source));
    }
    let functions = extract::with_callees(&source, answer);
    ensure!(!functions.is_empty(), "`fn {answer}` was not found in {file}");
    for function in functions {
        out += &format!("{}\n\n", ink.faint(&format!("{file}:{}", function.line)));
        for line in source[function.bytes].lines() {
            let line = line.strip_prefix(function.indent).unwrap_or(line);
            let is_comment = line.trim_start().starts_with("//");
            out += &if is_comment {
                ink.faint(line)
            } else {
                line.to_owned()
            };
            out.push('\n');
        }
        out.push('\n');
    }
    out.pop();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_solution_is_found_where_the_lesson_says_and_printed_in_whole_functions() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let lessons = lessons::all(root).unwrap();
        for exercise in lessons.iter().flat_map(|l| &l.manifest.exercises) {
            let text = text(root, exercise, Ink { colour: false }).unwrap();
            if exercise.solution.ends_with(".cu") {
                assert!(text.contains(&format!(" {}(", exercise.answer)), "{text}");
                continue;
            }
            assert!(text.contains(&format!("fn {}", exercise.answer)), "{text}");
            // Each part ends at its own brace, and none is printed twice.
            let parts: Vec<&str> = text.split(&format!("\n{}:", exercise.solution)).skip(1).collect();
            let is_end = |line: &str| line.ends_with('}') && !line.starts_with([' ', '/']);
            for part in &parts {
                let (_, part) = part.trim_end().split_once('\n').unwrap();
                let end = part.lines().position(is_end).unwrap();
                let prints = parts.iter().filter(|other| other.contains(part)).count();
                assert_eq!((end + 1, prints), (part.lines().count(), 1), "{part}");
            }
        }
    }
}

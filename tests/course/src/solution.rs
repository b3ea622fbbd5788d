//! canopy's own function for an exercise, for a student who has solved it or gives up.

use std::{fs, ops::Range, path::Path};

use anyhow::{Context, Result, bail};
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

/// The function with its file and line, then the functions of the same file that it calls.
pub fn text(root: &Path, exercise: &Exercise, ink: Ink) -> Result<String> {
    let file = &exercise.solution;
    let source = fs::read_to_string(root.join(file)).with_context(|| format!("{file} cannot be read"))?;
    let found = extract::function(&source, &exercise.answer)
        .with_context(|| format!("`fn {}` was not found in {file}", exercise.answer))?;
    let location = format!("{file}:{}", found.line);
    let cut = |range: Range<usize>| {
        // Remove the indentation of a method.
        let before = source[..range.start].lines().next_back().unwrap_or_default();
        let depth = if before.trim().is_empty() { before.len() } else { 0 };
        let shown = |l: &str| {
            painted(
                l.get(depth..)
                    .filter(|_| l[..depth].trim().is_empty())
                    .unwrap_or(l),
                ink,
            )
        };
        let mut lines = source[range].lines();
        let first = lines.next().map(|l| painted(l, ink));
        let lines: Vec<String> = first.into_iter().chain(lines.map(shown)).collect();
        lines.join("\n")
    };
    let mut out = format!(
        "{}\n{}\n\n{}\n",
        ink.bold(&format!("{} {}", exercise.id, exercise.title)),
        ink.faint(&location),
        cut(found.all)
    );
    for helper in extract::helpers(&source, &exercise.answer) {
        out += &format!(
            "\n{}\n\n{}\n",
            ink.faint(&format!("{file}:{}", helper.line)),
            cut(helper.all)
        );
    }
    Ok(out)
}

/// Makes comments faint.
fn painted(line: &str, ink: Ink) -> String {
    if line.trim_start().starts_with("//") {
        ink.faint(line)
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_solution_is_found_where_the_lesson_says() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let lessons = lessons::all(root).unwrap();
        let exercises = lessons.iter().flat_map(|l| &l.manifest.exercises);
        for exercise in exercises {
            let text = text(root, exercise, Ink { colour: false }).unwrap();
            let location = text.lines().nth(1).unwrap();
            let (file, line) = location.rsplit_once(':').unwrap();
            let source = fs::read_to_string(root.join(file)).unwrap();
            let line = source.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap();
            assert!(
                line.contains(&format!("fn {}", exercise.answer)),
                "{location}: {line}"
            );
            assert!(text.ends_with("\n}\n"), "{text}");
        }
    }
}

//! The lessons, read from the `lesson.toml` of each folder in `lessons`.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use grader::{Exercise, Manifest, paths, progress::Progress};

/// A lesson and its files as they are handed out, by their names below `exercises/lessonNN/src`.
pub struct Lesson {
    pub manifest: Manifest,
    pub stubs: BTreeMap<String, String>,
}

impl Lesson {
    /// The file of an exercise as it is handed out.
    pub fn stub(&self, exercise: &Exercise) -> &str {
        self.stubs.get(&exercise.file).map_or("", String::as_str)
    }
}

/// Reads all lessons, in order.
pub fn all(root: &Path) -> Result<Vec<Lesson>> {
    let mut lessons = Vec::new();
    for entry in fs::read_dir(root.join("lessons")).context("the folder `lessons` cannot be read")? {
        let path = entry?.path().join("lesson.toml");
        if !path.is_file() {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(Into::into);
        let manifest = text.and_then(|text| Manifest::parse(&text));
        let manifest = manifest.with_context(|| format!("{} cannot be read", path.display()))?;
        let stub = |file: &str| {
            let text = fs::read_to_string(root.join(paths::stubs(&manifest.lesson, file)));
            (file.to_owned(), text.unwrap_or_default())
        };
        let files = manifest.exercises.iter().map(|e| &*e.file);
        let stubs = files.chain([paths::LIBRARY]).map(stub).collect();
        lessons.push(Lesson { manifest, stubs });
    }
    lessons.sort_by(|a, b| a.manifest.lesson.cmp(&b.manifest.lesson));
    Ok(lessons)
}

/// All exercises with their lessons, in order.
pub fn exercises<'a>(
    lessons: impl IntoIterator<Item = &'a Lesson>,
) -> impl Iterator<Item = (&'a Lesson, &'a Exercise)> {
    let of = |l: &'a Lesson| l.manifest.exercises.iter().map(move |e| (l, e));
    lessons.into_iter().flat_map(of)
}

/// Finds a lesson by its number, such as `01` or `1`.
pub fn lesson<'a>(lessons: &'a [Lesson], number: &str) -> Result<&'a Lesson> {
    let digits = format!("{:0>2}", number.trim());
    let found = lessons.iter().find(|l| l.manifest.lesson == digits);
    found.with_context(|| format!("there is no lesson {number}; `cargo course` lists them"))
}

/// Finds an exercise by its name, such as `1.2`.
pub fn find<'a>(lessons: &'a [Lesson], id: &str) -> Result<(&'a Lesson, &'a Exercise)> {
    let found = exercises(lessons).find(|(_, e)| e.id == id);
    found.with_context(|| format!("there is no exercise {id}; 1.2 is the second exercise of lesson 01"))
}

/// Finds what a student names: a lesson such as `01`, or an exercise such as `1.2`.
pub fn named<'a>(lessons: &'a [Lesson], what: &str) -> Result<(&'a Lesson, Option<&'a Exercise>)> {
    if what.contains('.') {
        let (lesson, exercise) = find(lessons, what)?;
        return Ok((lesson, Some(exercise)));
    }
    Ok((lesson(lessons, what)?, None))
}

/// The first exercise that is not right yet in the lesson that was checked last; if there is none, in the lessons after it,
/// and then in those before it.
pub fn next<'a>(lessons: &'a [Lesson], progress: &Progress) -> Option<(&'a Lesson, &'a Exercise)> {
    let here = lessons
        .iter()
        .position(|l| l.manifest.exercise(&progress.last).is_some());
    let (before, after) = lessons.split_at(here.unwrap_or(0));
    exercises(after.iter().chain(before)).find(|(_, e)| progress.state(&e.id) != "right")
}

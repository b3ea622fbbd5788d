//! `lesson.toml`: the description of a lesson.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

/// A lesson's own description.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Two digits.
    pub lesson: String,
    /// The title of its chapter.
    pub title: String,
    /// How long it takes, including reading.
    pub minutes: u32,
    /// Lessons to do first, by their digits, and hardware.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Its file in `book/src`.
    pub chapter: String,
    /// In the order in which they are done.
    #[serde(rename = "exercise")]
    pub exercises: Vec<Exercise>,
}

/// One function to write.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exercise {
    /// Such as `1.2`.
    pub id: String,
    /// A few words.
    pub title: String,
    /// Its points.
    pub points: u32,
    /// The function to write, in `exercises/lessonNN/src/lib.rs`.
    pub function: String,
    /// For an exercise with several functions: by the name of a check, the function that it tests if that is not `function`.
    #[serde(default)]
    pub looks_at: BTreeMap<String, String>,
    /// The file of the answer, relative to the root.
    pub solution: String,
    /// The answer's function there.
    pub answer: String,
    /// Three: a question, a pointer, and nearly the code.
    pub hints: Vec<String>,
}

impl Manifest {
    /// Reads the text of a `lesson.toml`.
    ///
    /// # Errors
    /// An unknown or missing key.
    pub fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context("lesson.toml")
    }

    /// The exercise of that name.
    pub fn exercise(&self, id: &str) -> Option<&Exercise> {
        self.exercises.iter().find(|e| e.id == id)
    }

    /// All points of the lesson.
    pub fn points(&self) -> u32 {
        self.exercises.iter().map(|e| e.points).sum()
    }
}

impl Exercise {
    /// The function that the check `name` tests.
    pub fn looked_at(&self, name: &str) -> &str {
        self.looks_at.get(name).unwrap_or(&self.function)
    }

    /// The anchor of its heading in the chapter.
    pub fn anchor(&self) -> String {
        format!("exercise-{}", self.id.replace('.', "-"))
    }
}

/// The contract of `function` in a source text: the lines of its doc comment, without slashes.
pub fn contract(source: &str, function: &str) -> Vec<String> {
    let head = format!("pub fn {function}");
    let lines: Vec<&str> = source.lines().collect();
    let Some(at) = lines.iter().position(|l| {
        l.strip_prefix(&head)
            .is_some_and(|rest| rest.starts_with(['(', '<']))
    }) else {
        return Vec::new();
    };
    let above = lines[..at].iter().rev().take_while(|l| l.starts_with("///"));
    let mut doc: Vec<String> = above
        .map(|l| l.trim_start_matches("///").trim().to_owned())
        .collect();
    doc.reverse();
    doc
}

/// The first paragraph of a contract.
pub fn asked(source: &str, function: &str) -> String {
    let doc = contract(source, function);
    let first: Vec<String> = doc.into_iter().take_while(|l| !l.is_empty()).collect();
    first.join(" ")
}

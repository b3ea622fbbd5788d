//! `lesson.toml`: what a lesson says of itself.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

/// A lesson's own description.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Two digits.
    pub lesson: String,
    /// Of the chapter.
    pub title: String,
    /// How long it takes, reading included.
    pub minutes: u32,
    /// Lessons to have done, by their digits, and hardware.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Its file in `book/src`.
    pub chapter: String,
    /// What of canopy's code a student may call, as the beginning of its path by the module that defines it:
    /// `canopy::optim::adam::AdamState`. The fields of canopy's types, and what the standard library's traits derive for
    /// them, need no leave.
    #[serde(default)]
    pub sees: Vec<String>,
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
    /// In a few words.
    pub title: String,
    /// What it counts.
    pub points: u32,
    /// The function to write, in `exercises/lessonNN/src/lib.rs`.
    pub function: String,
    /// Where an exercise has several functions: the one that a check of that name looks at, if it is another.
    #[serde(default)]
    pub looks_at: BTreeMap<String, String>,
    /// File of the answer, from the root.
    pub solution: String,
    /// The answer's function there.
    pub answer: String,
    /// A question, a pointer, nearly the code.
    pub hints: Vec<String>,
}

impl Manifest {
    /// Reads the text of a `lesson.toml`.
    ///
    /// # Errors
    /// A key unknown or missing.
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
    /// The function that the check `name` looks at.
    pub fn looked_at(&self, name: &str) -> &str {
        self.looks_at.get(name).unwrap_or(&self.function)
    }

    /// Its heading's anchor in the chapter.
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

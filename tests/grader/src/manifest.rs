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
#[derive(Clone, Debug, Default, Deserialize)]
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
    /// Returns an error if a key is unknown or missing.
    pub fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context("lesson.toml")
    }

    /// The exercise with this id.
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
    let head = ['(', '<'].map(|end| format!("\npub fn {function}{end}"));
    let Some(at) = head.iter().find_map(|head| source.find(head)) else {
        return Vec::new();
    };
    let lines: Vec<&str> = source[..at].lines().collect();
    let doc = lines.rsplit(|line| !line.starts_with("///")).next();
    let text = |line: &&str| line.trim_start_matches("///").trim().to_owned();
    doc.unwrap_or_default().iter().map(text).collect()
}

/// The first paragraph of a contract.
pub fn asked(source: &str, function: &str) -> String {
    paragraphs(source, function)
        .into_iter()
        .next()
        .unwrap_or_default()
}

/// The sentence of a contract that contains `words`; if there is none, the first paragraph.
pub fn promise(source: &str, function: &str, words: &str) -> String {
    let quoted = paragraphs(source, function)
        .iter()
        .flat_map(|paragraph| sentences(paragraph))
        .find(|sentence| !words.is_empty() && sentence.contains(words));
    quoted.unwrap_or_else(|| asked(source, function))
}

/// The paragraphs and the items of lists, each in one line.
fn paragraphs(source: &str, function: &str) -> Vec<String> {
    let lines = contract(source, function);
    let joined = lines.chunk_by(|a, b| !a.is_empty() && !b.is_empty() && !b.starts_with("- "));
    let joined = joined.map(|lines| lines.join(" ").trim_start_matches("- ").to_owned());
    joined.filter(|paragraph| !paragraph.is_empty()).collect()
}

/// A sentence ends with a full stop that a capital letter or code follows.
fn sentences(paragraph: &str) -> Vec<String> {
    let starts =
        |rest: &str| rest.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || "`*([".contains(c));
    let parts: Vec<&str> = paragraph.split_inclusive(". ").collect();
    let sentences = parts.chunk_by(|_, next| !starts(next));
    sentences.map(|parts| parts.concat().trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_with_the_words_is_quoted_or_the_first_paragraph() {
        let source = "use a;\n/// Adds two numbers, each once.\n///\n/// In f64. `a` is finite,\n/// as is b: 0.5 or 1. A \
                      third is not\n/// allowed.\n/// - `a`: the first. Any.\npub fn add(a: f64, b: f64) {}\n";
        for (words, sentence) in [
            ("is finite, as", "`a` is finite, as is b: 0.5 or 1."),
            ("not allowed", "A third is not allowed."),
            ("the first", "`a`: the first."),
            ("In f64", "In f64."),
            ("no such words", "Adds two numbers, each once."),
            ("", "Adds two numbers, each once."),
        ] {
            assert_eq!(promise(source, "add", words), sentence);
        }
    }
}

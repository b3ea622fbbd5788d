//! `lesson.toml`: the description of a lesson.

use std::{collections::BTreeMap, ops::Range};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::paths::LIBRARY;

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
    /// The file below `exercises/lessonNN/src` in which it is written.
    #[serde(default = "library")]
    pub file: String,
    /// The function or the kernel to write.
    pub function: String,
    /// For an exercise with several functions: by the name of a check, the function that it tests if that is not `function`.
    #[serde(default)]
    pub looks_at: BTreeMap<String, String>,
    /// The file of the answer, relative to the root.
    pub solution: String,
    /// The answer's function there.
    pub answer: String,
    /// Three: a question, a pointer, and nearly the code.
    pub hints: [String; 3],
}

fn library() -> String {
    LIBRARY.to_owned()
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
    /// Its id and title, as pages and reports have it.
    pub fn name(&self) -> String {
        format!("{} {}", self.id, self.title)
    }

    /// The function that the check `name` tests.
    pub fn looked_at(&self, name: &str) -> &str {
        self.looks_at.get(name).unwrap_or(&self.function)
    }

    /// The anchor of its heading in the chapter.
    pub fn anchor(&self) -> String {
        format!("exercise-{}", self.id.replace('.', "-"))
    }
}

/// How a line begins in which a function or a kernel is declared.
const HEADS: [&str; 4] = [
    "pub fn ",
    "fn ",
    "pub(super) fn ",
    "extern \"C\" __global__ void ",
];

/// The lines of a function at the top level, or of a kernel, in a source text that rustfmt has formatted, from 0: those of its
/// doc comment, and those up to the first line that is `}`. The braces of other functions need not balance.
pub fn item(source: &str, function: &str) -> Option<Range<usize>> {
    let lines: Vec<&str> = source.lines().collect();
    let is_head = |line: &&str| {
        let rest = HEADS.iter().find_map(|head| line.strip_prefix(head));
        let rest = rest.and_then(|rest| rest.strip_prefix(function));
        rest.is_some_and(|rest| rest.starts_with(['(', '<']))
    };
    let head = lines.iter().position(is_head)?;
    let before = lines[..head].iter().rposition(|line| !line.starts_with("///"));
    let length = lines[head..].iter().position(|line| *line == "}")?;
    Some(before.map_or(0, |line| line + 1)..head + length + 1)
}

/// The sentence of a contract that contains `words`; if there is none or `words` is empty, the first paragraph.
pub fn promise(source: &str, function: &str, words: &str) -> String {
    let all = paragraphs(source, function);
    let mut sentences = all.iter().flat_map(|paragraph| sentences(paragraph));
    let quoted = sentences.find(|sentence| !words.is_empty() && sentence.contains(words));
    quoted.or_else(|| all.first().cloned()).unwrap_or_default()
}

/// The paragraphs and the items of lists of the contract of `function`, its doc comment, each in one line.
fn paragraphs(source: &str, function: &str) -> Vec<String> {
    let first = item(source, function).map_or(usize::MAX, |lines| lines.start);
    let lines = source.lines().skip(first);
    let lines = lines.map_while(|line| Some(line.strip_prefix("///")?.trim()));
    let lines: Vec<&str> = lines.collect();
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
                      third is not\n/// allowed.\n/// - `a`: the first. Any.\npub fn add(a: f64, b: f64) {\n}\n";
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

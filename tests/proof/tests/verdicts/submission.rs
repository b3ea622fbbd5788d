//! Submissions that consist of a lesson's own answers: canopy's functions, right answers, known mistakes.
//!
//! The lesson's files of answers are handed in as they are, with a small module in place of the crate `grader`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use grader::Manifest;
use proof::root;

/// A lesson: its manifest, its stubs, and the exercises of its answers.
pub struct Facts {
    pub manifest: Manifest,
    pub stubs: &'static str,
    pub third_hints: &'static str,
    pub right: Vec<&'static str>,
    /// By the parts of `MISTAKES`.
    pub mistakes: Vec<Vec<&'static str>>,
}

/// The answer to an exercise.
pub enum Pick {
    /// canopy's function.
    Reference,
    /// An entry of `RIGHT`.
    Right(usize),
    /// An entry of a part of `MISTAKES`.
    Mistake((usize, usize)),
}

impl Facts {
    /// The files of a submission with these answers.
    pub fn source(&self, pick: impl Fn(&str) -> Pick) -> BTreeMap<String, String> {
        let folder = root().join(format!("lessons/lesson{}/src", self.manifest.lesson));
        let mut files = BTreeMap::from([("grader.rs".to_owned(), include_str!("grader.rs").to_owned())]);
        let mut found = Vec::new();
        sources(&folder, &mut found);
        for path in found {
            let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            let of_answers = name.starts_with("right") || name.starts_with("mistakes");
            let is_of_the_checks = name.starts_with("checks") || !of_answers && text.contains("grader::");
            if ["stubs.rs", "third_hints.rs"].contains(&&*name) || is_of_the_checks {
                continue;
            }
            let text = text
                .replace("use grader::{Right, right};", "use crate::grader::Right;")
                .replace("use grader::{Mistake, wrong};", "use crate::grader::Mistake;");
            files.insert(name, text);
        }
        let lesson = fs::read_to_string(folder.join("lib.rs")).unwrap();
        files.insert("lib.rs".into(), self.library(&lesson, &files, pick));
        files
    }

    /// `lib.rs`: the lesson's own, without its checks, and the choice of the answers.
    fn library(&self, lesson: &str, files: &BTreeMap<String, String>, pick: impl Fn(&str) -> Pick) -> String {
        let (_, code) = lesson.split_once("\n\n").unwrap();
        let is_kept = |line: &&str| {
            let module = line.strip_prefix("mod ").and_then(|l| l.strip_suffix(';'));
            module.is_none_or(|m| files.contains_key(&format!("{m}.rs")))
                && !line.starts_with("#[allow(unused")
        };
        let code: Vec<&str> = code.lines().filter(is_kept).collect();
        let mut text = format!(
            "#[macro_use]\nmod grader;\n{}\n",
            code.join("\n").replace("grader::contract!", "contract!")
        );
        let name = format!("Lesson{}", self.manifest.lesson);
        text.push_str(&format!("\nconst CHOSEN: {name} = {name} {{\n"));
        for line in lesson.lines().map(str::trim) {
            let row = line.strip_prefix('"').and_then(|l| l.split_once("\" "));
            let Some((id, (function, _))) = row.and_then(|(id, rest)| Some((id, rest.split_once(':')?)))
            else {
                continue;
            };
            match pick(id) {
                Pick::Reference => {}
                Pick::Right(i) => {
                    text.push_str(&format!("    {function}: right::RIGHT[{i}].answer.{function},\n"))
                }
                Pick::Mistake((part, i)) => text.push_str(&format!(
                    "    {function}: mistakes::MISTAKES[{part}][{i}].answer.{function},\n"
                )),
            }
        }
        text + "    ..REFERENCE\n};\n"
    }
}

/// The Rust files of a folder and of the folders in it.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

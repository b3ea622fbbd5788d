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
        let lesson = fs::read_to_string(folder.join("lib.rs")).unwrap();
        let mistakes = fs::read_to_string(folder.join("mistakes.rs")).unwrap();
        let parts = parts(&mistakes);

        let mut chosen = String::new();
        let mut modules = Vec::new();
        for (id, function) in rows(&lesson) {
            let answer = match pick(id) {
                Pick::Reference => continue,
                Pick::Right(i) => format!("right::RIGHT[{i}]"),
                Pick::Mistake((part, i)) => format!("mistakes::{}[{i}]", parts[part]),
            };
            modules.push(answer.split("::").take(2).collect::<Vec<_>>().join("/"));
            modules.push(answer.split("::").take(1).collect());
            chosen.push_str(&format!("    {function}: {answer}.answer.{function},\n"));
        }
        let is_chosen = |module: &str| modules.iter().any(|m| m == module);
        let is_not_an_answer = |module: &str| {
            let top = module.split('/').next().unwrap();
            ["checks", "stubs", "third_hints", "lib", "right", "mistakes"].contains(&top)
        };

        let mut files = BTreeMap::from([("grader.rs".to_owned(), include_str!("grader.rs").to_owned())]);
        let mut found = Vec::new();
        sources(&folder, &mut found);
        for path in found {
            let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
            let module = name.trim_end_matches(".rs");
            let text = fs::read_to_string(&path).unwrap();
            let helps = !is_not_an_answer(module) && !text.contains("grader::");
            if is_chosen(module) || helps {
                files.insert(name, text);
            }
        }
        if let Some(text) = files.get_mut("mistakes.rs") {
            *text = without_the_list(text, |module| is_chosen(&format!("mistakes/{module}")));
        }
        for text in files.values_mut() {
            *text = text
                .replace("use grader::{Right, right};", "use crate::grader::Right;")
                .replace("use grader::{Mistake, wrong};", "use crate::grader::Mistake;")
                .replace("use grader::Mistake;", "use crate::grader::Mistake;");
        }
        let library = self.library(&lesson, &files, &chosen);
        files.insert("lib.rs".into(), library);
        files
    }

    /// `lib.rs`: the lesson's own, without its checks, and the choice of the answers.
    fn library(&self, lesson: &str, files: &BTreeMap<String, String>, chosen: &str) -> String {
        let (_, code) = lesson.split_once("\n\n").unwrap();
        let is_kept = |line: &&str| {
            let module = line.strip_prefix("mod ").and_then(|l| l.strip_suffix(';'));
            module.is_none_or(|m| files.contains_key(&format!("{m}.rs")))
                && !line.starts_with("#[allow(unused")
        };
        let code: Vec<&str> = code.lines().filter(is_kept).collect();
        let code = code.join("\n").replace("grader::contract!", "contract!");
        let name = format!("Lesson{}", self.manifest.lesson);
        format!(
            "#[macro_use]\nmod grader;\n{code}\n\n\
             const CHOSEN: {name} = {name} {{\n{chosen}    ..REFERENCE\n}};\n"
        )
    }
}

/// The exercise and the function of each row of a lesson's contract.
fn rows(lesson: &str) -> impl Iterator<Item = (&str, &str)> {
    lesson.lines().map(str::trim).filter_map(|line| {
        let (id, rest) = line.strip_prefix('"')?.split_once("\" ")?;
        Some((id, rest.split_once(':')?.0))
    })
}

/// The constants of which a lesson's list of mistakes consists: `normalise::MISTAKES`.
fn parts(mistakes: &str) -> Vec<&str> {
    let (_, list) = mistakes.split_once("pub const MISTAKES").unwrap();
    let (list, _) = list.split_once("];").unwrap();
    let lines = list.lines().skip(1);
    lines.map(|line| line.trim().trim_end_matches(',')).collect()
}

/// `mistakes.rs` with the modules that are handed in, and without the list of all.
fn without_the_list(text: &str, is_kept: impl Fn(&str) -> bool) -> String {
    let (before, rest) = text.split_once("pub const MISTAKES").unwrap();
    let (_, after) = rest.split_once("];").unwrap();
    let lines = before.lines().chain(after.lines()).filter_map(|line| {
        let module = line.strip_prefix("mod ").and_then(|l| l.strip_suffix(';'));
        match module {
            Some(module) if !is_kept(module) => None,
            Some(_) => Some(format!("pub {line}\n")),
            None => Some(format!("{line}\n")),
        }
    });
    lines.collect()
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

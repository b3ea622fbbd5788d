//! Every exercise is a piece of the program: `main` reaches every function that the answer key names.
//!
//! The sources are read, not compiled. A function is reached if the body of a reached function mentions it by a name that
//! resolves to it. Tests, imports and re-exports are no bodies. A method is reached if its type is mentioned and a reached
//! body calls a method of its name; whether it is that type's method is not decided.
//!
//! From the same mentions follows which files use each other: no circle of files is allowed.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod circles;
mod graph;
mod source;

use std::fs;

use circles::circles;
use graph::reached;
use proof::root;
use source::Sources;

/// Answers that no command runs, by design: `neuron` defines what each number of `kernels::linear` is, and a unit test
/// compares the two. The program itself uses matrix products.
const DEFINITIONS: [&str; 1] = ["neuron"];

/// An exercise's answer.
struct Answer {
    exercise: String,
    function: String,
    file: String,
}

/// The answers of all lessons.
fn answers() -> Vec<Answer> {
    let mut answers = Vec::new();
    for entry in fs::read_dir(root().join("lessons")).unwrap() {
        let Ok(text) = fs::read_to_string(entry.unwrap().path().join("lesson.toml")) else {
            continue;
        };
        let lesson: toml::Table = text.parse().unwrap();
        for exercise in lesson["exercise"].as_array().unwrap() {
            let of = |key: &str| exercise[key].as_str().unwrap().to_owned();
            answers.push(Answer {
                exercise: of("id"),
                function: of("answer"),
                file: of("solution"),
            });
        }
    }
    answers
}

#[test]
fn main_reaches_every_answer_of_the_key() {
    let mut sources = Sources::default();
    sources.read("main", &root().join("solutions/src/main.rs"));
    sources.read("canopy", &root().join("solutions/src/lib.rs"));
    sources.read("canopy_data", &root().join("data/src/lib.rs"));
    let reached = reached(&sources, "main");
    let answers = answers();
    assert!(answers.len() >= 57, "only {} answers were found", answers.len());
    let mut missing = Vec::new();
    for answer in answers {
        let file = root().join(&answer.file);
        let own = |id: &usize| {
            let item = &sources.items[*id];
            item.name == answer.function && item.file == file && item.owner.is_none()
        };
        let ids: Vec<usize> = (0..sources.items.len()).filter(own).collect();
        assert!(
            !ids.is_empty(),
            "{} has no function {}",
            answer.file,
            answer.function
        );
        let is_reached = ids.iter().any(|id| reached.contains(id));
        let is_definition = DEFINITIONS.contains(&answer.function.as_str());
        assert!(
            !(is_reached && is_definition),
            "{} is reached: it needs no exception",
            answer.function
        );
        if !is_reached && !is_definition {
            missing.push(format!(
                "{} {} ({})",
                answer.exercise, answer.function, answer.file
            ));
        }
    }
    missing.sort();
    assert!(
        missing.is_empty(),
        "no command of canopy runs these answers of the key:\n{}",
        missing.join("\n")
    );
}

/// The names of the functions that `main` of a made-up program reaches.
fn names(main: &str, modules: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("main", main)].iter().chain(modules) {
        fs::write(folder.path().join(format!("{name}.rs")), text).unwrap();
    }
    let mut sources = Sources::default();
    sources.read("main", &folder.path().join("main.rs"));
    let mut names: Vec<String> = reached(&sources, "main")
        .into_iter()
        .map(|id| sources.items[id].name.clone())
        .collect();
    names.sort();
    names
}

#[test]
fn calls_are_followed_through_imports_and_re_exports() {
    let main = "mod a; mod b; use b::{second, third as other};
        fn main() { second::<u8>(1); [1].map(other); b::fourth(); }";
    let a = "pub fn second() { super::b::fifth(); } pub fn third() {} pub fn fourth() {} pub fn unused() {}";
    let b = "pub use crate::a::*; pub fn fifth() { let x = format!(\"{}\", sixth()); } fn sixth() {}";
    assert_eq!(
        names(main, &[("a", a), ("b", b)]),
        ["fifth", "fourth", "main", "second", "sixth", "third"]
    );
}

#[test]
fn tests_imports_variables_and_comments_reach_nothing() {
    let main = "mod a; pub use a::{one, two};
        /// Calls one().
        fn main() { let total = 3; let two_ = \"two()\"; x.three; println!(\"{}\", total); }
        fn total() {}
        #[cfg(test)] mod tests { #[test] fn t() { super::one(); } }
        #[test] fn u() { two(); }";
    assert_eq!(
        names(
            main,
            &[("a", "pub fn one() {} pub fn two() {} pub fn three() {}")]
        ),
        ["main"]
    );
}

#[test]
fn a_method_needs_its_type_and_a_call_by_its_name() {
    let main = "mod a; use a::{A, Step}; fn main() { let a: A = A::new(); a.run(); }";
    let a = "pub struct A; pub struct B; pub trait Step { fn run(&self); }
        impl A { pub fn new() -> Self { A } fn other(&self) { third(); } }
        impl Step for A { fn run(&self) { first(); } }
        impl Step for B { fn run(&self) { second(); } }
        impl Drop for A { fn drop(&mut self) { fourth(); } }
        fn first() {} fn second() {} fn third() {} fn fourth() {}";
    assert_eq!(
        names(main, &[("a", a)]),
        ["A", "drop", "first", "fourth", "main", "new", "run"]
    );
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut sources = Sources::default();
    sources.read("main", &root().join("solutions/src/main.rs"));
    sources.read("canopy", &root().join("solutions/src/lib.rs"));
    sources.read("canopy_data", &root().join("data/src/lib.rs"));
    let circles = circles(&sources);
    assert!(
        circles.is_empty(),
        "these groups of files use each other in a circle; move what they share to a file below them: {circles:#?}"
    );
}

#[test]
fn a_circle_is_found_through_other_files_and_not_through_the_root_of_a_module() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "main",
            "mod a; mod b; mod c; fn main() { a::one(); } fn root() {}",
        ),
        ("a", "pub fn one() { super::b::two(); }"),
        ("b", "use crate::c::three; pub fn two() { three(); }"),
        (
            "c",
            "pub fn three() { crate::root(); } #[cfg(test)] mod tests { fn t() { crate::b::two(); } }",
        ),
    ] {
        fs::write(folder.path().join(format!("{name}.rs")), text).unwrap();
    }
    let count = || {
        let mut sources = Sources::default();
        sources.read("main", &folder.path().join("main.rs"));
        circles(&sources)
            .into_iter()
            .map(|circle| circle.len())
            .collect::<Vec<_>>()
    };
    assert!(count().is_empty(), "{:?}", count());
    fs::write(folder.path().join("c.rs"), "pub fn three() { crate::a::one(); }").unwrap();
    assert_eq!(count(), [3]);
}

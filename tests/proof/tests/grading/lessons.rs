//! Submissions of all lessons, packed as a student does. `cargo course grade` must give each lesson the mark that its checks imply:
//! all points for the completed third hints, and none for stubs and for the first known mistake of each function in Rust.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use grader::Text;
use proof::{program, root};

use crate::{archives::put, graded, messages};

/// A lesson's folder, and its files: stubs, and answers, of which a number chooses the mistake.
type Facts = (&'static str, &'static [Text]);

macro_rules! of_each_lesson {
    ($($lesson:ident)+) => {
        fn lessons() -> Vec<Facts> {
            vec![$((stringify!($lesson), $lesson::LESSON.texts)),+]
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/lessons.rs"));

/// The answers of a lesson, each with the known mistake `number`, which is a parameter of each function there. 0: all are right.
fn answers(text: &str, number: u8) -> String {
    let dtype = if text.contains("const M: u32") {
        "u32"
    } else {
        "u8"
    };
    let parameters = "<const M: u8>|<const M: u32>|::<0>|::<1>|::<5>|::<M>".split('|');
    let text = parameters.fold(text.to_owned(), |text, of| text.replace(of, ""));
    // A kernel's text must be that of a file.
    let text = text.replace("include_str!(\"answers/", "include_str!(\"");
    let text = text.replace("include_str!(\"mistakes/", "concat!(\"");
    let (_, code) = text.split_once("\nuse ").unwrap();
    format!("const M: {dtype} = {number};\nuse {code}")
}

/// A submission of lesson 01 with right answers only. Hostile ones replace the body of `neuron`.
pub fn honest() -> String {
    answers(::lesson01::LESSON.texts[0].third_hints, 0)
}

/// The files of a submission, with the known mistake `number` in each answer.
fn with_mistake((lesson, texts): Facts, number: u8) -> Vec<(&'static str, String)> {
    let library = fs::read_to_string(root().join(format!("lessons/{lesson}/src/lib.rs"))).unwrap();
    // Its types, which the answers use, are between its modules and its contract.
    let (_, types) = library.split_once("\nuse ").unwrap();
    let (types, _) = types.split_once("grader::contract!").unwrap();
    let library = format!("#![allow(warnings)]\nmod answers;\npub use answers::*;\nuse {types}");
    let rust = [
        ("lib.rs", library),
        ("answers.rs", answers(texts[0].third_hints, number)),
    ];
    // A kernel is right, or as it was handed out.
    let kernel = |text: &Text| if number == 0 { text.third_hints } else { text.stubs };
    let kernels = texts[1..].iter().map(|text| (text.file, kernel(text).to_owned()));
    rust.into_iter().chain(kernels).collect()
}

/// A submission of lesson 11 with right answers only. Hostile ones replace the kernel `map`.
pub fn honest_kernels() -> Vec<(&'static str, String)> {
    with_mistake(("lesson11", ::lesson11::LESSON.texts), 0)
}

/// Packs all lessons as a student does.
fn hand_in(class: &Path, name: &str, source: impl Fn(Facts) -> Vec<(&'static str, String)>) {
    let tree = tempfile::tempdir().unwrap();
    symlink(root().join("lessons"), tree.path().join("lessons")).unwrap();
    for facts in lessons() {
        for (file, text) in source(facts) {
            put(tree.path(), &format!("exercises/{}/src/{file}", facts.0), text);
        }
    }
    let mut pack = Command::new(program("course"));
    pack.args(["pack", "--out"])
        .arg(class.join(format!("{name}.tar.gz")));
    let packed = pack.current_dir(&tree).output().unwrap();
    assert!(
        packed.status.success(),
        "{}",
        String::from_utf8_lossy(&packed.stderr)
    );
}

pub fn hand_in_all(class: &Path) {
    let stubs = |text: &Text| (text.file, text.stubs.to_owned());
    hand_in(class, "stubs", |(_, texts)| texts.iter().map(stubs).collect());
    hand_in(class, "right", |facts| with_mistake(facts, 0));
    hand_in(class, "mistakes", |facts| with_mistake(facts, 1));
}

#[test]
fn every_lesson_gets_the_mark_that_its_checks_imply() {
    let Some(run) = graded() else { return };
    for (name, right) in [("stubs", false), ("right", true), ("mistakes", false)] {
        let grade = run.grade(name);
        let stopped = grade.lessons.iter().any(|lesson| lesson.stopped.is_some());
        assert!(
            !stopped && grade.lessons.len() == lessons().len(),
            "{name}: {}",
            messages(&grade)
        );
        for exercise in grade.exercises() {
            let points = if right { exercise.of } else { 0 };
            assert_eq!(
                exercise.points, points,
                "{name}, {}: {:?}",
                exercise.id, exercise.checks
            );
        }
    }
}

//! Submissions of all lessons, packed as a student does. `cargo course grade` must give each lesson the mark that its checks imply:
//! all points for the completed third hints, and none for stubs and for the first known mistake of each exercise.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use grader::{Manifest, grades::Grade};
use proof::{course, root};

use crate::in_the_run;

/// A lesson: its manifest, its stubs, and its answers, of which a number chooses the mistake.
struct Facts {
    manifest: Manifest,
    stubs: &'static str,
    answers: &'static str,
}

macro_rules! of_each_lesson {
    ($($lesson:ident)+) => {
        fn lessons() -> Vec<Facts> {
            vec![$(Facts {
                manifest: $lesson::LESSON.manifest().unwrap(),
                stubs: $lesson::LESSON.stubs_text,
                answers: $lesson::LESSON.third_hints_text,
            }),+]
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/lessons.rs"));

/// The answers of a lesson, each with the known mistake `number`, which is a parameter of each function there. 0: all are right.
fn answers(text: &str, number: u8) -> String {
    let parameters = ["<const M: u8>", "::<0>", "::<1>", "::<5>"].iter();
    let text = parameters.fold(text.to_owned(), |text, of| text.replace(of, ""));
    let (_, code) = text.split_once("\nuse ").unwrap();
    format!("const M: u8 = {number};\nuse {code}")
}

/// A submission of lesson 01 with right answers only. Hostile ones replace the body of `neuron`.
pub fn honest() -> String {
    answers(::lesson01::LESSON.third_hints_text, 0)
}

/// The files of a submission, with the known mistake `number` in each answer.
fn with_mistake(facts: &Facts, number: u8) -> Vec<(&'static str, String)> {
    let lesson = root().join(format!("lessons/lesson{}/src/lib.rs", facts.manifest.lesson));
    let lesson = fs::read_to_string(lesson).unwrap();
    // Imports and types alone: the rest of the lesson's file is of its checks.
    let (head, _) = lesson.split_once("grader::contract!").unwrap();
    let is_kept = |line: &str| {
        ["use ", "type ", "pub type "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let types = head
        .split_inclusive(";\n")
        .filter(|item| item.lines().any(is_kept) && !item.contains("grader"));
    let types: String = types.collect();
    let library = format!("#![allow(warnings)]\nmod answers;\npub use answers::*;\n{types}");
    vec![
        ("lib.rs", library),
        ("answers.rs", answers(facts.answers, number)),
    ]
}

/// Packs all lessons as a student does: in a tree whose other folders are the course's.
fn hand_in(class: &Path, name: &str, source: impl Fn(&Facts) -> Vec<(&'static str, String)>) {
    let tree = tempfile::tempdir().unwrap();
    for facts in lessons() {
        let folder = tree
            .path()
            .join(format!("exercises/lesson{}/src", facts.manifest.lesson));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in source(&facts) {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    for name in [
        "Cargo.toml",
        "Cargo.lock",
        "data",
        "lessons",
        "solutions",
        "tests",
    ] {
        symlink(root().join(name), tree.path().join(name)).unwrap();
    }
    let mut pack = Command::new(course());
    pack.args(["pack", "--out"])
        .arg(class.join(format!("{name}.tar.gz")))
        .current_dir(&tree);
    let packed = pack.output().unwrap();
    assert!(
        packed.status.success(),
        "{}",
        String::from_utf8_lossy(&packed.stderr)
    );
}

pub fn hand_in_all(class: &Path) {
    hand_in(class, "stubs", |facts| vec![("lib.rs", facts.stubs.to_owned())]);
    hand_in(class, "right", |facts| with_mistake(facts, 0));
    hand_in(class, "mistakes", |facts| with_mistake(facts, 1));
}

/// Each exercise that did not get all points, or none, with the reports of its checks.
fn differences(grade: &Grade, right: bool) -> Vec<String> {
    let stopped = |lesson: &grader::grades::LessonGrade| {
        Some(format!("lesson {}: {}", lesson.lesson, lesson.stopped.as_ref()?))
    };
    let odd = grade
        .exercises()
        .filter(|e| e.points != if right { e.of } else { 0 });
    let odd = odd.map(|e| {
        let reports = e.checks.iter().filter(|check| check.word != "right");
        let reports: Vec<&str> = reports.map(|check| check.report.as_str()).collect();
        format!("{} has {} of {}\n{}", e.id, e.points, e.of, reports.join("\n"))
    });
    grade.lessons.iter().filter_map(stopped).chain(odd).collect()
}

#[test]
fn every_lesson_gets_the_mark_that_its_checks_imply() {
    in_the_run(|run| {
        for (name, right) in [("stubs", false), ("right", true), ("mistakes", false)] {
            let grade = run.grade(name);
            assert_eq!(grade.lessons.len(), lessons().len(), "{name}");
            let found = differences(&grade, right);
            assert!(found.is_empty(), "{name}: {}", found.join("\n\n"));
        }
    });
}

//! `cargo course grade` gives each lesson the mark that its checks imply: all points for the completed third hints, and none for
//! stubs and for the first known mistake of each exercise.
//!
//! Takes minutes, because every lesson is built for every submission: `cargo test -p proof --test verdicts -- --ignored`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use grader::{Manifest, grades::Grade};
use proof::{course, root};

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

impl Facts {
    /// The answers with known mistake `number` in each exercise, as files of a submission. 0: without one.
    fn with_mistake(&self, number: u8) -> Vec<(&'static str, String)> {
        let lesson = root().join(format!("lessons/lesson{}/src/lib.rs", self.manifest.lesson));
        let lesson = fs::read_to_string(lesson).unwrap();
        let (head, contract) = lesson.split_once("grader::contract!").unwrap();
        let (contract, _) = contract.split_once("\n}").unwrap();
        // Imports and types alone: the rest of the lesson's file is of its checks.
        let mut inside = false;
        let is_kept = |line: &&str| {
            inside |= ["use ", "type ", "pub type "]
                .iter()
                .any(|start| line.starts_with(start));
            let kept = inside;
            inside &= !line.ends_with(';');
            kept && !line.contains("grader")
        };
        let head: Vec<&str> = head.lines().filter(is_kept).collect();
        let rows = contract
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let rows = rows.collect::<Vec<_>>().join(" ");
        // Each function of the contract, of its type: `"1.1" neuron: fn(&[f32]) -> f32 = …`.
        let function = |row: &str| {
            let (name, rest) = row.trim().split_once(": ")?;
            let (of_type, _) = rest.split_once(" = ")?;
            Some(format!(
                "pub const {name}: {of_type} = answers::{name}::<{number}>;\n"
            ))
        };
        let functions: String = rows.split('"').skip(2).step_by(2).filter_map(function).collect();
        let library = format!(
            "#![allow(warnings)]\nmod answers;\n{}\n{functions}",
            head.join("\n")
        );
        vec![("lib.rs", library), ("answers.rs", self.answers.to_owned())]
    }
}

/// Packs all lessons as a student does: in a tree whose other folders are the course's.
fn hand_in(
    class: &Path,
    name: &str,
    lessons: &[Facts],
    source: impl Fn(&Facts) -> Vec<(&'static str, String)>,
) {
    let tree = tempfile::tempdir().unwrap();
    for facts in lessons {
        let folder = tree
            .path()
            .join(format!("exercises/lesson{}/src", facts.manifest.lesson));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in source(facts) {
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
    fs::create_dir_all(class).unwrap();
    let packed = Command::new(course())
        .args(["pack", "--out"])
        .arg(class.join(format!("{name}.tar.gz")))
        .current_dir(tree.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&packed.stderr);
    assert!(packed.status.success(), "{said}");
}

/// Each exercise that did not get all points, or none, with the reports of its checks.
fn differences(grade: &Grade, right: bool) -> Vec<String> {
    let mut found = Vec::new();
    for lesson in &grade.lessons {
        if let Some(why) = &lesson.stopped {
            found.push(format!("{}: lesson {}: {why}", grade.submission, lesson.lesson));
        }
        for e in &lesson.exercises {
            if e.points != if right { e.of } else { 0 } {
                let reports = e.checks.iter().filter(|c| c.word != "right");
                let reports: Vec<&str> = reports.map(|c| c.report.as_str()).collect();
                let (name, points) = (&grade.submission, e.points);
                found.push(format!(
                    "{name}: {} has {points} of {}\n{}",
                    e.id,
                    e.of,
                    reports.join("\n")
                ));
            }
        }
    }
    found
}

#[test]
#[ignore = "takes minutes"]
fn every_lesson_gets_the_mark_that_its_checks_imply() {
    let base = tempfile::tempdir().unwrap();
    let (class, graded) = (base.path().join("class"), base.path().join("graded"));
    let lessons = lessons();
    hand_in(&class, "stubs", &lessons, |facts| {
        vec![("lib.rs", facts.stubs.to_owned())]
    });
    hand_in(&class, "right", &lessons, |facts| facts.with_mistake(0));
    hand_in(&class, "mistakes", &lessons, |facts| facts.with_mistake(1));
    let out = Command::new(course())
        .args(["grade", "--jobs", "2", "--out"])
        .args([&graded, &class])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if said.contains("no untrusted program can be run here") {
        println!("not run, because bubblewrap is not installed, or may not be used here");
        return;
    }
    assert_eq!(out.status.code(), Some(0), "{said}");
    println!("{said}");
    let mut found = Vec::new();
    for (name, right) in [("stubs", false), ("right", true), ("mistakes", false)] {
        let grade = Grade::load(&graded.join(name).join("grade.json")).unwrap();
        assert_eq!(grade.lessons.len(), lessons.len(), "{name}: {said}");
        found.extend(differences(&grade, right));
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

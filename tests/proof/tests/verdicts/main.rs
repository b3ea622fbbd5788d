//! `cargo course grade` gives each lesson the mark that its checks imply: none for stubs, all points for right answers
//! written another way and for the completed third hints, and for canopy's functions all but three exercises, which have a
//! known mistake.
//!
//! Takes minutes, because every lesson is built for every submission: `cargo test -p proof --test verdicts -- --ignored`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod submission;

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path, process::Command};

use grader::{Manifest, grades::Grade};
use proof::{course, root};
use submission::{Facts, Pick};

macro_rules! of_each_lesson {
    ($($lesson:ident)+) => {
        /// What the lessons themselves know: their answers, by the exercises that these belong to.
        fn lessons() -> Vec<Facts> {
            vec![$(Facts {
                manifest: $lesson::LESSON.manifest().unwrap(),
                stubs: $lesson::LESSON.stubs_text,
                third_hints: $lesson::LESSON.third_hints_text,
                right: $lesson::LESSON.right.iter().map(|r| r.exercise).collect(),
                mistakes: $lesson::LESSON.mistakes.iter().map(|part| part.iter().map(|m| m.exercise).collect()).collect(),
            }),+]
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/lessons.rs"));

/// Three exercises of a lesson, with a known mistake of each.
fn mistakes(facts: &Facts) -> BTreeMap<String, (usize, usize)> {
    let ids: Vec<&String> = facts.manifest.exercises.iter().map(|e| &e.id).collect();
    let chosen = [0, ids.len() / 2, ids.len() - 1].into_iter().enumerate();
    let mistake = |(nth, at): (usize, usize)| {
        let all = facts.mistakes.iter().enumerate();
        let all = all.flat_map(|(part, of)| of.iter().enumerate().map(move |(i, id)| (*id, (part, i))));
        let mut own = all.filter(|(id, _)| id == ids[at]);
        let (_, place) = own.nth(nth).expect("five known mistakes");
        (ids[at].clone(), place)
    };
    chosen.map(mistake).collect()
}

/// Writes all lessons of a student below `folder`, each as `source` gives it.
fn hand_in(folder: &Path, lessons: &[Facts], source: impl Fn(&Facts) -> BTreeMap<String, String>) {
    for facts in lessons {
        let folder = folder.join(format!("exercises/lesson{}/src", facts.manifest.lesson));
        for (name, text) in source(facts) {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }
}

/// Packs the completed third hints as a student packs answers: in a tree whose other folders are the course's.
fn pack(tree: &Path, lessons: &[Facts], archive: &Path) {
    hand_in(tree, lessons, |facts| {
        [("lib.rs".to_owned(), facts.third_hints.to_owned())].into()
    });
    for name in [
        "Cargo.toml",
        "Cargo.lock",
        "data",
        "lessons",
        "solutions",
        "tests",
    ] {
        symlink(root().join(name), tree.join(name)).unwrap();
    }
    let packed = Command::new(course())
        .args(["pack", "--out"])
        .arg(archive)
        .current_dir(tree)
        .output()
        .unwrap();
    assert!(
        packed.status.success(),
        "{}",
        String::from_utf8_lossy(&packed.stderr)
    );
}

/// Each exercise that did not get the points that `expected` says, with the reports of its checks.
fn differences<'a>(
    grade: &Grade,
    expected: impl Fn(&Manifest, &str) -> bool,
    lessons: impl IntoIterator<Item = &'a Facts>,
) -> Vec<String> {
    let mut found = Vec::new();
    for facts in lessons {
        let graded = grade.lessons.iter().find(|l| l.lesson == facts.manifest.lesson);
        let graded =
            graded.unwrap_or_else(|| panic!("{}: lesson {}", grade.submission, facts.manifest.lesson));
        if let Some(why) = &graded.stopped {
            found.push(format!("{}: lesson {}: {why}", grade.submission, graded.lesson));
            continue;
        }
        for e in &graded.exercises {
            let points = if expected(&facts.manifest, &e.id) { e.of } else { 0 };
            if e.points != points {
                let report: Vec<&str> = e
                    .checks
                    .iter()
                    .filter(|c| c.word != "right")
                    .map(|c| c.report.as_str())
                    .collect();
                found.push(format!(
                    "{}: {} has {} of {} points\n{}",
                    grade.submission,
                    e.id,
                    e.points,
                    e.of,
                    report.join("\n")
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
    let ways = |facts: &Facts, id: &str| -> Vec<usize> {
        (0..facts.right.len()).filter(|&i| facts.right[i] == id).collect()
    };
    hand_in(&class.join("stubs"), &lessons, |facts| {
        [("lib.rs".to_owned(), facts.stubs.to_owned())].into()
    });
    let most = |facts: &Facts| {
        let all = facts.manifest.exercises.iter().map(|e| ways(facts, &e.id).len());
        all.max().unwrap_or(0)
    };
    let rights = lessons.iter().map(most).max().unwrap_or(0);
    for nth in 0..rights {
        // A lesson whose ways are all handed in already is left out.
        hand_in(&class.join(format!("right-{nth}")), &lessons, |facts| {
            if most(facts) <= nth {
                return BTreeMap::new();
            }
            facts.source(|id| {
                let ways = ways(facts, id);
                Pick::Right(ways[nth % ways.len()])
            })
        });
    }
    // Two submissions, because one may have 64 files.
    let halves = lessons.split_at(lessons.len() / 2);
    for (name, half) in [("mistakes-0", halves.0), ("mistakes-1", halves.1)] {
        hand_in(&class.join(name), half, |facts| {
            let mistakes = mistakes(facts);
            facts.source(|id| mistakes.get(id).map_or(Pick::Reference, |&i| Pick::Mistake(i)))
        });
    }
    pack(&base.path().join("tree"), &lessons, &class.join("packed.tar.gz"));
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
    let grade = |name: &str| Grade::load(&graded.join(name).join("grade.json")).unwrap();
    let mut found = differences(&grade("stubs"), |_, _| false, &lessons);
    found.extend(differences(&grade("packed"), |_, _| true, &lessons));
    for nth in 0..rights {
        let handed_in = |facts: &&Facts| most(facts) > nth;
        let lessons = lessons.iter().filter(handed_in);
        found.extend(differences(&grade(&format!("right-{nth}")), |_, _| true, lessons));
    }
    let wrong: Vec<String> = lessons.iter().flat_map(|f| mistakes(f).into_keys()).collect();
    for (name, half) in [("mistakes-0", halves.0), ("mistakes-1", halves.1)] {
        let is_right = |_: &Manifest, id: &str| !wrong.iter().any(|w| w == id);
        found.extend(differences(&grade(name), is_right, half));
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

//! The graders can be trusted: held against stubs, right answers, and wrong ones, for every exercise of every lesson.
//!
//! Nothing here depends on what a student has written in `exercises`: lessons are taken without their feature `student`,
//! and the stubs are the copies that the lessons keep. `CANOPY_HANDED_OUT=1`, set where changes are checked before they
//! land, also holds that `exercises` are those stubs.

use std::thread;

use grader::Lesson;
use proof::root;

/// One call for each lesson: they differ in type.
macro_rules! each_lesson {
    ($of:expr) => {
        each_lesson!($of; lesson01 lesson02 lesson03 lesson04 lesson05 lesson06 lesson07 lesson08)
    };
    ($of:expr; $($lesson:ident)+) => {
        [$(($of)(&$lesson::LESSON)),+]
    };
}

macro_rules! of_every_lesson {
    ($hold:expr) => {
        report(each_lesson!($hold))
    };
}

/// Checks draw their inputs by a seed; 20 of them, four side by side, as some answers wait for nothing until a deadline.
fn by_seeds(hold: impl Fn(u64) -> Vec<String> + Sync) -> Vec<String> {
    const LANES: u64 = 4;
    let lane = |lane: u64| (1..=20).filter(move |seed| seed % LANES == lane).flat_map(&hold);
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|of| scope.spawn(move || lane(of).collect::<Vec<String>>()))
            .collect();
        let joined = lanes.into_iter().flat_map(|l| l.join().expect("no panic"));
        joined.collect()
    })
}

fn report<const N: usize>(problems: [Vec<String>; N]) {
    let all = problems.concat();
    assert!(all.is_empty(), "\n{}\n", all.join("\n"));
}

#[test]
fn every_stub_fails_each_of_its_checks_as_to_do() {
    of_every_lesson!(Lesson::stubs_are_to_do);
}

#[test]
fn canopys_functions_and_other_right_answers_pass() {
    of_every_lesson!(|lesson| by_seeds(|seed| Lesson::right_answers_pass(lesson, seed)));
}

#[test]
fn every_known_mistake_is_caught_and_its_cause_told() {
    of_every_lesson!(|lesson| by_seeds(|seed| Lesson::mistakes_are_caught(lesson, seed)));
}

#[test]
fn every_check_catches_a_known_mistake() {
    of_every_lesson!(|lesson| Lesson::every_check_catches_one(lesson, 1));
}

#[test]
fn the_kill_matrix_of_the_book_is_up_to_date() {
    if cfg!(not(debug_assertions)) {
        println!(
            "not run, because in release an overflow wraps where it panics in the matrix, and other checks see it"
        );
        return;
    }
    let lessons = each_lesson!(|lesson| grader::matrix(lesson).expect("a matrix"));
    let kept = std::fs::read_to_string(root().join("book/src/kill-matrix.md")).unwrap_or_default();
    assert!(
        kept.replace("\r\n", "\n") == grader::matrix_page(&lessons),
        "book/src/kill-matrix.md is not what the graders do now: cargo course matrix --write"
    );
}

#[test]
fn stubs_hints_points_book_and_answer_key_agree() {
    of_every_lesson!(|lesson| Lesson::papers_agree(lesson, &root()));
}

#[test]
fn every_lesson_of_the_folder_is_held_here() {
    let mut folders: Vec<String> = std::fs::read_dir(root().join("lessons"))
        .expect("the lessons")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name.starts_with("lesson"))
        .collect();
    folders.sort();
    assert_eq!(
        folders,
        [
            "lesson01", "lesson02", "lesson03", "lesson04", "lesson05", "lesson06", "lesson07", "lesson08"
        ]
    );
}

#[test]
fn exercises_are_as_handed_out_where_changes_land() {
    if std::env::var_os("CANOPY_HANDED_OUT").is_none() {
        println!("not run, because CANOPY_HANDED_OUT is not set: here a student may write");
        return;
    }
    of_every_lesson!(|lesson| if Lesson::is_handed_out(lesson, &root()) {
        Vec::new()
    } else {
        vec!["exercises and stubs.rs differ: copy one over the other".to_owned()]
    });
}

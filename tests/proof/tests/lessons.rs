//! The grades of every lesson can be trusted: the grader is run on stubs, on right answers and on known mistakes.
//!
//! Nothing here depends on what a student has written in `exercises`: the lessons are built without their feature
//! `student`, and the stubs are the copies that the lessons keep. With `CANOPY_HANDED_OUT=1`, which is set where changes
//! are checked before they land, a test also compares `exercises` with those stubs.
//!
//! The tests of one lesson: `cargo test -p proof --test lessons lesson02`.

use std::collections::BTreeSet;

use grader::Lesson;
use proof::root;

// The checks allocate millions of small tensors.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The tests of each lesson, in a module of its name. The build script lists the lessons.
macro_rules! of_each_lesson {
    ($($lesson:ident)+) => {
        $(mod $lesson {
            use $lesson::LESSON;

            #[test]
            fn every_stub_fails_each_of_its_checks_as_to_do() {
                super::none(LESSON.stubs_are_to_do());
            }

            #[test]
            fn canopys_functions_and_other_right_answers_pass() {
                super::right_answers_pass(&LESSON);
            }

            #[test]
            fn completed_third_hints_pass() {
                super::none(super::by_seeds(10, |seed| LESSON.third_hints_are_right(seed)));
            }

            #[test]
            fn every_known_mistake_is_caught_and_its_cause_reported() {
                super::none(super::by_seeds(2, |seed| LESSON.mistakes_are_caught(seed)));
            }

            #[test]
            fn stubs_hints_points_book_and_answer_key_agree() {
                super::none(LESSON.papers_agree(&super::root()));
            }

            #[test]
            fn exercises_are_as_handed_out_where_changes_land() {
                super::is_handed_out(&LESSON);
            }
        })+
    };
}

include!(concat!(env!("OUT_DIR"), "/lessons.rs"));

/// Checks draw their inputs by a seed.
fn by_seeds(seeds: u64, test: impl Fn(u64) -> Vec<String>) -> Vec<String> {
    (1..=seeds).flat_map(test).collect()
}

fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// A check that could not run here proves nothing: it is printed, and does not count as passed.
fn right_answers_pass<C: Copy + Send + Sync>(lesson: &Lesson<C>) {
    let (mut problems, mut not_run) = (Vec::new(), BTreeSet::new());
    for seed in 1..=10 {
        let found = lesson.right_answers_pass(seed);
        problems.extend(found.problems);
        not_run.extend(found.not_run);
    }
    not_run.iter().for_each(|line| println!("not run: {line}"));
    none(problems);
}

fn is_handed_out<C: Copy + Send>(lesson: &Lesson<C>) {
    if std::env::var_os("CANOPY_HANDED_OUT").is_none() {
        println!("not run, because CANOPY_HANDED_OUT is not set: here a student may write");
        return;
    }
    assert!(
        lesson.is_handed_out(&root()),
        "exercises and stubs.rs differ: copy one over the other"
    );
}

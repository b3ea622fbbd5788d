//! The grades of every lesson can be trusted: the grader is run on stubs, on right answers and on known mistakes.
//!
//! Nothing here depends on what a student has written in `exercises`: the lessons are built without their feature
//! `student`, and the stubs are the copies that the lessons keep. With `CANOPY_HANDED_OUT=1`, which is set where changes
//! are checked before they land, a test also compares `exercises` with those stubs.
//!
//! The tests of one lesson: `cargo test -p proof --test lessons lesson02`.

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
            fn canopys_functions_third_hints_and_other_right_answers_pass() {
                super::none((1..=10).flat_map(|seed| LESSON.right_answers_pass(seed)).collect());
            }

            #[test]
            fn every_known_mistake_is_caught_and_its_cause_reported() {
                super::none((1..=2).flat_map(|seed| LESSON.mistakes_are_caught(seed)).collect());
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

fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

fn is_handed_out<C: Copy + Send>(lesson: &Lesson<C>) {
    if std::env::var_os("CANOPY_HANDED_OUT").is_none() {
        return println!("not run, because CANOPY_HANDED_OUT is not set: here a student may write");
    }
    assert!(
        lesson.is_handed_out(&root()),
        "exercises and stubs.rs differ: copy one over the other"
    );
}

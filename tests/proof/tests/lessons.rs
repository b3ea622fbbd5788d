//! The grades of every lesson can be trusted: the grader is run on stubs, on right answers and on known mistakes.
//!
//! Nothing here depends on what a student has written in `exercises`: the lessons are built without their feature
//! `student`, and the stubs are the copies that the lessons keep. With `CANOPY_HANDED_OUT=1`, which is set where changes
//! are checked before they land, a test also compares `exercises` with those stubs.
//!
//! The tests of one lesson: `cargo test -p proof --test lessons lesson02`.

use std::{
    collections::BTreeSet,
    sync::{Mutex, mpsc},
    thread,
    time::Duration,
};

use ::lesson03::Lesson03;
use grader::{Cause, Lesson, Outcome, RightAnswers, cause, run};
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

/// Checks draw their inputs by a seed. They run in two threads, because some answers only wait for a deadline.
fn by_seeds(seeds: u64, test: impl Fn(u64) -> Vec<String> + Sync) -> Vec<String> {
    const LANES: u64 = 2;
    let lane = |lane: u64| {
        (1..=seeds)
            .filter(move |seed| seed % LANES == lane)
            .flat_map(&test)
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|of| scope.spawn(move || lane(of).collect::<Vec<String>>()))
            .collect();
        let joined = lanes.into_iter().flat_map(|l| l.join().expect("no panic"));
        joined.collect()
    })
}

fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// A check that could not run here proves nothing: it is printed, and does not count as passed.
fn right_answers_pass<C: Copy + Send + Sync>(lesson: &Lesson<C>) {
    let not_run = Mutex::new(BTreeSet::new());
    let problems = by_seeds(10, |seed| {
        let RightAnswers {
            problems,
            not_run: now,
        } = lesson.right_answers_pass(seed);
        not_run.lock().expect("no panic").extend(now);
        problems
    });
    for line in not_run.into_inner().expect("no panic") {
        println!("not run: {line}");
    }
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

/// The report says where the answer waits.
#[test]
fn a_deadlock_between_threads_ends_at_the_deadline_of_its_check() {
    let answer = Lesson03 {
        prefetched: |_, _, _, _, _| {
            let (jobs, todo) = mpsc::channel::<usize>();
            // `jobs` is not dropped, so `recv` never returns, and the scope waits for its thread.
            thread::scope(|scope| drop(scope.spawn(move || todo.recv().is_ok())));
            drop(jobs);
        },
        ..::lesson03::LESSON.reference
    };
    let check = ::lesson03::LESSON
        .checks()
        .find(|c| c.name == "delivers_results_in_order");
    let check = check.expect("the check");
    let deadline = Duration::from_millis(500);
    let outcome = run(&check.full_name(), check.run, answer, 1, deadline);
    let Outcome::Stuck { input, location, .. } = &outcome else {
        panic!("expected that it is stuck, got {outcome:?}");
    };
    assert!(input.contains("workers"), "{input}");
    if cfg!(unix) {
        assert_eq!(location.as_deref(), Some("std::thread::scoped::scope"));
        let cause = cause(&::lesson03::LESSON, check, &outcome, answer, 1);
        let waits = |text: &str| text.starts_with("It waits for its threads");
        assert!(
            matches!(cause, Some(Cause::Likely(text)) if waits(text)),
            "{cause:?}"
        );
    }
}

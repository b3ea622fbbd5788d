//! An answer that waits forever ends at the deadline of its check, and the report says where it waits.

use std::{sync::mpsc, thread, time::Duration};

use grader::{Outcome, cause, run};
use lesson03::{LESSON, Lesson03};

#[test]
fn a_deadlock_between_threads_is_stuck_and_not_a_hang() {
    let answer = Lesson03 {
        prefetched: |_, _, _, _, _| {
            let (jobs, todo) = mpsc::channel::<usize>();
            // `jobs` is not dropped, so `recv` never returns, and the scope waits for its thread.
            thread::scope(|scope| drop(scope.spawn(move || todo.recv().is_ok())));
            drop(jobs);
        },
        ..LESSON.reference
    };
    let check = LESSON
        .checks
        .iter()
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
        let cause = cause(&LESSON, check, &outcome, answer, 1).expect("a cause");
        assert!(cause.starts_with("It waits for its threads"), "{cause}");
    }
}

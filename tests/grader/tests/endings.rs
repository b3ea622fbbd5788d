//! However a student's function ends, its check ends, and says so.

use std::{
    sync::{Mutex, mpsc},
    time::Duration,
};

use grader::{Draw, Outcome, Verdict, compiling, draw, given, not_run, run};

type Answer = fn(f64) -> f64;

fn doubles(answer: &Answer) -> Verdict {
    let x = draw().number(1.0, 2.0);
    given(format!("x = {x}")).close("result", answer(x), 2.0 * x)
}

fn outcome(answer: Answer) -> Outcome {
    run("doubles", doubles, answer, 7, Duration::from_secs(2))
}

#[test]
fn a_compiler_may_take_longer_than_a_check() {
    let slow = |x| {
        compiling(|| std::thread::sleep(Duration::from_millis(2200)));
        x
    };
    assert!(!matches!(outcome(slow), Outcome::Stuck(_)));
}

#[test]
fn a_check_that_cannot_run_here_says_why() {
    let Outcome::NotRun(why) = outcome(|_| not_run("there is no compiler")) else {
        panic!("it is not run");
    };
    assert_eq!(why, "there is no compiler");
}

#[test]
fn a_panic_is_reported_with_its_line_and_its_input() {
    let Outcome::Panicked(wrong) = outcome(|x| [0.0][x as usize]) else {
        panic!("an index out of bounds panics");
    };
    assert!(wrong.lines[0].contains("index out of bounds"), "{wrong:?}");
    assert!(wrong.at.unwrap_or_default().contains("endings.rs:"));
    assert!(wrong.input.starts_with("x = 1."), "{}", wrong.input);
}

/// An answer that knows its check can return what this check accepts, and nothing right.
#[test]
fn the_thread_of_an_answer_does_not_name_the_check() {
    let name_of_thread = |(): &()| {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        given("").require("name of the thread", name == "exercise 1.2", name)
    };
    let outcome = run("1.2::doubles", name_of_thread, (), 7, Duration::from_secs(5));
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
}

#[test]
fn an_endless_loop_and_a_deadlock_end_at_their_deadline_with_the_call_that_waits() {
    static ONE: Mutex<()> = Mutex::new(());
    let spins: Answer = |x| loop {
        std::hint::black_box(x);
        std::thread::yield_now();
    };
    let locks_twice: Answer = |x| {
        let _first = ONE.lock();
        let _second = ONE.lock();
        x
    };
    let nobody_sends: Answer = |_| {
        let (_send, receive) = mpsc::channel();
        receive.recv().unwrap_or(0.0)
    };
    for (answer, waits_in) in [
        (spins, ""),
        (locks_twice, "std::sync::poison::mutex::lock"),
        (nobody_sends, "std::sync::mpsc::recv"),
    ] {
        let Outcome::Stuck(wrong) = outcome(answer) else {
            panic!("{waits_in:?} does not end");
        };
        assert!(wrong.input.starts_with("x = 1."), "{}", wrong.input);
        let at = wrong.at.unwrap_or_default();
        assert!(waits_in.is_empty() || cfg!(not(unix)) || at == waits_in, "{at}");
    }
}

#[test]
fn a_seed_and_a_name_give_the_same_inputs_again_and_no_others() {
    let list = |seed, name| Draw::new(seed, name).list(8, -1.0, 1.0);
    assert_eq!(list(1, "a"), list(1, "a"));
    assert!(list(1, "a") != list(2, "a") && list(1, "a") != list(1, "b"));
}

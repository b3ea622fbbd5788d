//! Known wrong answers to exercise 3.5.

use super::*;

pub const MISTAKES: &[Mistake<Lesson03>] = &[
    wrong!("3.5", delivers_results_in_order, "Results are passed on as they arrive. An early result must wait for its turn.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { ordered: false, ..POOL })),
    wrong!("3.5", delivers_results_in_order, "The last result is never passed to `take`.",
        prefetched: |n, w, a, m, t| pooled(n.saturating_sub(1), w, a, m, t, POOL)),
    wrong!("3.5", runs_workers_in_parallel,
        "Only one worker runs at a time: either there is only one, or it holds the lock on the queue while it calls `make`. Release the lock as soon as it has a number.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { locks: true, ..POOL })),
    wrong!("3.5", runs_workers_in_parallel, "Nothing is prefetched: the calling thread makes each result when it is needed. Start threads.",
    prefetched: |n, _, _, m, t| {
        for i in 0..n {
            if !t(m(i)) { break; }
        }
    }),
    wrong!("3.5", runs_workers_in_parallel, "The calling thread makes some of the results: all of them are made by workers.",
    prefetched: |n, w, a, m, t| {
        if n == 0 || t(m(0)) {
            pooled(n.saturating_sub(1), w, a, &|i| m(i + 1), t, POOL);
        }
    }),
    wrong!("3.5", runs_workers_in_parallel, "More than `workers` threads run at a time.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { threads: |w| w + 2, ..POOL })),
    wrong!("3.5", runs_workers_in_parallel, "One worker too few runs: the calling thread is not one of the `workers`.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { threads: |w| (w - 1).max(1), ..POOL })),
    wrong!("3.5", works_while_take_runs,
        "While `take` runs, fewer than `ahead` results are made. Send all numbers below i + ahead before `take(i)`, and give the results a channel with room for them.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::Workers, ..POOL })),
    wrong!("3.5", works_while_take_runs,
        "Results are made in groups, and while one is taken, nothing is made. Send number i + ahead as soon as `take` has returned for i.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::Groups, ..POOL })),
    wrong!("3.5", starts_at_most_ahead_jobs,
        "While make(0) is slow, more and more others are made. Send number i when `take` was called for i − ahead: not at the start, not when some result arrives.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::All, ..POOL })),
    wrong!("3.5", starts_at_most_ahead_jobs, "One result too many is started: with result i due, only the numbers below i + ahead may be sent.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::OneMore, ..POOL })),
    wrong!("3.5", starts_at_most_ahead_jobs, "Number i is sent right before `take` is called for i − ahead: send it after that.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { sends: Sends::BeforeTake, ..POOL })),
    wrong!("3.5", calls_make_once_for_each, "A failed call is repeated: an error is a result like any other.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { tries: 2, ..POOL })),
    wrong!("3.5", accepts_a_count_of_zero, "make(0) is called although the count is 0.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { at_least_one: true, ..POOL })),
    wrong!("3.5", accepts_a_count_of_zero, "`make` is called for numbers that do not exist: the first `ahead` numbers are given out although `count` may be smaller.",
    prefetched: |n, w, a, m, t| {
        if n == 0 { (0..a).for_each(|i| drop(m(i))); }
        pooled(n, w, a, m, t, POOL);
    }),
    wrong!("3.5", delivers_an_error_in_its_place, "Errors are passed to `take` at the end: each belongs in the place of its result.",
    prefetched: |n, w, a, m, t| {
        let (mut late, mut more) = (Vec::new(), true);
        pooled(n, w, a, m, &mut |made| {
            if made.is_err() { late.push(made) } else { more = t(made) }
            more
        }, POOL);
        late.into_iter().for_each(|made| more = more && t(made));
    }),
    wrong!("3.5", delivers_an_error_in_its_place, "An error is skipped: pass it to `take`, which decides what to do.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::Skip, ..POOL })),
    wrong!("3.5", delivers_an_error_in_its_place, "The first error stops the loop: the later results must follow.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::End, ..POOL })),
    wrong!("3.5", delivers_an_error_in_its_place, "A worker ends after an error: when all have ended, the later results are missing.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_error: OnError::EndSecond, ..POOL })),
    wrong!("3.5", delivers_an_error_in_its_place, "The error is replaced by another one, so that the name of the file is lost: pass on the `Err` of `make`.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { other_message: true, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "A panic is skipped; it should become an error in its place.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_panic: OnError::Skip, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "The first panic stops the loop: the later results must follow.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { on_panic: OnError::End, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "A panic ends its worker, and when all have ended, nobody makes the rest. Catch it in the worker, with `catch_unwind`, and go on with the next number.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { dies: true, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "A panic ends its worker, so that the rest is never made. Catch it around each call of `make`, not around the loop, and go on with the next number.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { dies: true, gives_up: true, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "The payload of a panic may be a `&str`, a `String` or anything else: do not `unwrap` it as one of them.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { unwraps: true, ..POOL })),
    wrong!("3.5", turns_a_panic_into_an_error, "A panic of `make` ends `prefetched` as well: catch it in the worker, with `catch_unwind`, and send an `Err`.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { panics_on: true, ..POOL })),
    wrong!("3.5", stops_when_take_returns_false, "The result of `take` is ignored: false means stop.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { stops: false, ..POOL })),
    wrong!("3.5", stops_when_take_returns_false, "`take` is called again after it returned false: leave the outer loop as well, not only the inner one.",
    prefetched: |n, w, a, m, t| {
        let (mut stopped, mut more) = (false, 3);
        pooled(n, w, a, m, &mut |made| {
            more -= usize::from(stopped);
            stopped |= !t(made);
            !stopped || more > 0
        }, POOL);
    }),
    wrong!("3.5", stops_when_take_returns_false, "After `take` returned false, the workers still make all the rest: give out no more numbers.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { finishes: true, ..POOL })),
    // These hang, so that their cause is that of the call in which they wait.
    wrong!("3.5", ends_idle_workers, "It waits for its threads, and one of them waits too: for a message although a sender still exists here, for space in a channel, for a lock, or for a condition variable that nobody notifies.",
        prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, Pool { flag: true, ..POOL })),
    wrong!("3.5", ends_idle_workers, "It waits for its threads, and one of them waits too: for a message although a sender still exists here, for space in a channel, for a lock, or for a condition variable that nobody notifies.",
        prefetched: unnotified),
];

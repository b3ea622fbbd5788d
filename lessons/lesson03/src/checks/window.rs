//! Checks for when `make` is called. Calls wait for events, never for a time, unless the answer is wrong.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

use anyhow::Result;
use canopy::loader::Batch;
use grader::{Verdict, draw, given};

use super::{
    prefetch::{Desk, GRACE, State, numbered},
    told,
};
use crate::Lesson03;

pub fn runs_workers_in_parallel(answer: &Lesson03) -> Verdict {
    let workers = draw().whole(3, 4);
    let input = format!(
        "count 12, {workers} workers, {} ahead; make waits until {workers} run at a time",
        2 * workers
    );
    given(input.clone());
    let (desk, caller) = (Desk::default(), thread::current().id());
    let (by_caller, by_others) = (AtomicBool::new(false), AtomicBool::new(false));
    let make = |i| {
        desk.start(i);
        if thread::current().id() == caller {
            // If the calling thread makes everything itself, no other call comes.
            by_caller.store(true, SeqCst);
            desk.note(|s| s.given_up = true);
        } else {
            by_others.store(true, SeqCst);
        }
        if desk.expect(|s| s.most >= workers) {
            desk.wait(GRACE, |s| s.most > workers);
        }
        desk.finish(i);
        Ok(numbered(i))
    };
    (answer.prefetched)(12, workers, 2 * workers, &make, &mut |_| true);
    let most = desk.lock().most;
    let by_caller = by_caller.into_inner();
    if by_caller && by_others.into_inner() {
        let lines = vec![
            "expected  all calls on other threads".into(),
            "got       some on the calling thread".into(),
        ];
        return told(input, "threads that call `make`", &[6], lines);
    }
    if most == workers {
        return Ok(());
    }
    let kind = match most {
        1 if by_caller => 1,
        1 => 2,
        _ if most + 1 == workers => 3,
        _ if most < workers => 4,
        _ => 5,
    };
    let lines = vec![format!("expected  {workers}"), format!("got       {most}")];
    told(input, "most calls of `make` at a time", &[kind], lines)
}

pub fn works_while_take_runs(answer: &Lesson03) -> Verdict {
    let (count, workers) = (12, 2);
    let ahead = 2 * draw().whole(2, 3);
    let input = format!("count {count}, {workers} workers, {ahead} ahead; `take` waits for what may be made");
    given(input.clone());
    let (desk, mut idle) = (Desk::default(), None);
    let make = |i| {
        desk.start(i);
        desk.finish(i);
        Ok(numbered(i))
    };
    let mut now = 0;
    (answer.prefetched)(count, workers, ahead, &make, &mut |_| {
        let until = count.min(now + ahead);
        let missing = |s: &State| (0..until).find(|i| !s.finished.contains(i));
        if !desk.expect(|s| missing(s).is_none()) && idle.is_none() {
            idle = missing(&desk.lock()).map(|i| (now, i));
        }
        now += 1;
        true
    });
    let Some((during, missing)) = idle else {
        return Ok(());
    };
    let last = count.min(during + ahead) - 1;
    let lines = vec![
        format!("expected  make(0) to make({last}) while `take` has result {during}"),
        format!("got       make({missing}) does not run while `take` waits"),
    ];
    told(input, "calls of `make`", &[1 + usize::from(during > 0)], lines)
}

pub fn starts_at_most_ahead_jobs(answer: &Lesson03) -> Verdict {
    let ahead = draw().whole(3, 5);
    for (workers, ahead) in [(2, ahead), (3, 3)] {
        late_first(answer, workers, ahead)?;
    }
    slow_trainer(answer, ahead)?;
    many(answer)
}

/// make(0) ends when the others have done what they may.
fn late_first(answer: &Lesson03, workers: usize, ahead: usize) -> Verdict {
    let input = format!("count 20, {workers} workers, {ahead} ahead; make(0) ends late");
    given(input.clone());
    let (desk, caller) = (Desk::default(), thread::current().id());
    let mut beyond = 0;
    let begun = Mutex::new(Vec::new());
    let make = |i| {
        desk.start(i);
        if i == 0 && thread::current().id() != caller {
            // Also workers with numbers of their own, 1, 3, 5 and so on, get as far as this.
            desk.expect(|s| s.finished.len() >= (ahead / 2).max(workers - 1));
            desk.wait(GRACE, |s| s.started.iter().filter(|&&i| i >= ahead).count() > 2);
            if let Ok(mut begun) = begun.lock() {
                begun.clone_from(&desk.lock().started);
            }
        }
        desk.finish(i);
        Ok(numbered(i))
    };
    (answer.prefetched)(20, workers, ahead, &make, &mut |_| true);
    if let Ok(begun) = begun.lock() {
        beyond += begun.iter().filter(|&&i| i >= ahead).count();
    }
    if beyond == 0 {
        return Ok(());
    }
    let lines = vec![
        format!("expected  no make({ahead}) before `take` is called for 0"),
        format!("got       {beyond} or more calls of make({ahead}) and later"),
    ];
    told(input, "calls of `make`", &[beyond.min(2)], lines)
}

/// `take` ends when the workers have done what they may.
fn slow_trainer(answer: &Lesson03, ahead: usize) -> Verdict {
    let input = format!("count 30, 2 workers, {ahead} ahead; `take` ends late");
    given(input.clone());
    let (desk, mut first) = (Desk::default(), None);
    let make = |i| {
        desk.start(i);
        desk.finish(i);
        Ok(numbered(i))
    };
    let mut now = 0;
    (answer.prefetched)(30, 2, ahead, &make, &mut |_| {
        if now == 0 || now == 4 {
            let beyond = |s: &State| s.started.iter().copied().find(|&i| i > now + ahead);
            desk.expect(|s| s.finished.len() >= now + ahead);
            desk.wait(GRACE, |s| beyond(s).is_some());
            first = first.or_else(|| beyond(&desk.lock()).map(|i| (now, i)));
        }
        now += 1;
        true
    });
    let Some((during, i)) = first else { return Ok(()) };
    let lines = vec![
        format!(
            "expected  at most make({}) while `take` has {during}",
            during + ahead
        ),
        format!("got       make({i})"),
    ];
    told(input, "calls of `make`", &[3], lines)
}

/// Many short calls: a number that is given out just before `take` is called is seen by chance, and so in one of them.
fn many(answer: &Lesson03) -> Verdict {
    const COUNT: usize = 2_000;
    let input = format!("count {COUNT}, 2 workers, 2 ahead");
    given(input.clone());
    let desk = Desk::default();
    let make = |i| {
        let mut state = desk.lock();
        if i >= state.taken + 2 {
            state.started.push(i);
        }
        drop(state);
        Ok(numbered(i))
    };
    (answer.prefetched)(COUNT, 2, 2, &make, &mut |_: Result<Batch>| {
        desk.lock().taken += 1;
        true
    });
    let first = desk.lock().started.first().copied();
    let Some(i) = first else { return Ok(()) };
    let lines = vec![
        format!("expected  make({i}) after `take` was called for {}", i - 2),
        "got       make before that".into(),
    ];
    told(input, "calls of `make`", &[4], lines)
}

pub fn stops_when_take_returns_false(answer: &Lesson03) -> Verdict {
    let ahead = 4;
    for last in [draw().whole(2, 5), 0] {
        let input = format!("count 500, 2 workers, {ahead} ahead; `take` returns false at {last}");
        let case = given(input.clone());
        let (mut taken, desk) = (0usize, Desk::default());
        let make = |i| {
            desk.start(i);
            // Later results arrive after the stop, one by one: who goes on gets each, and does not wait for ever.
            if i > last {
                desk.expect(|s| s.taken > last);
            }
            if (last + 2..=last + ahead).contains(&i) {
                desk.wait(GRACE, |s| s.taken >= i);
            }
            desk.finish(i);
            Ok(numbered(i))
        };
        (answer.prefetched)(500, 2, ahead, &make, &mut |_| {
            taken += 1;
            desk.note(|s| s.taken = taken);
            taken <= last
        });
        if taken != last + 1 {
            // How many more there are may depend on time.
            let kind = match taken {
                500 => 1,
                _ if taken > last => 2,
                _ => 3,
            };
            let lines = vec![format!("expected  {}", last + 1), format!("got       {taken}")];
            return told(input, "calls of `take`", &[kind], lines);
        }
        let state = desk.lock();
        let beyond = state.started.iter().any(|&i| i > last + ahead);
        let said = format!(
            "make({}) and later ones after `take` returned false",
            last + ahead + 1
        );
        case.require("calls of `make`", !beyond, said)?;
        case.require(
            "calls of `make` when it returns",
            state.running == 0,
            "calls that still run",
        )?;
    }
    Ok(())
}

/// A worker that is not woken waits for ever, and `prefetched` with it: the deadline of the check ends both.
pub fn ends_idle_workers(answer: &Lesson03) -> Verdict {
    for (workers, ahead, last) in [(2, 4, draw().whole(1, 4)), (3, 6, 0), (1, 1, 2)] {
        given(format!(
            "count 500, {workers} workers, {ahead} ahead; `take` returns false at {last}, when all results up to {} are made \
             and the workers are idle",
            last + ahead - 1
        ));
        let (mut taken, desk) = (0, Desk::default());
        let make = |i| {
            desk.start(i);
            desk.finish(i);
            Ok(numbered(i))
        };
        (answer.prefetched)(500, workers, ahead, &make, &mut |_| {
            taken += 1;
            if taken == last + 1 {
                desk.expect(|s| (0..last + ahead).all(|i| s.finished.contains(&i)));
                // Time for the workers to become idle. A right answer ends whether they are or not.
                desk.wait(GRACE, |_| false);
            }
            taken <= last
        });
    }
    Ok(())
}

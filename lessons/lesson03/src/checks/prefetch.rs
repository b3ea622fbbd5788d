use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use anyhow::{Result, anyhow};
use canopy::loader::Batch;
use grader::{Verdict, draw, given};

use super::told;
use crate::Lesson03;

/// A batch that contains its number.
fn numbered(i: usize) -> Batch {
    Batch {
        points: Vec::new(),
        channels: 3,
        labels: Vec::new(),
        records: vec![i],
        mask: None,
    }
}

/// The number of a batch; −1 for an error.
fn number(made: &Result<Batch>) -> f64 {
    match made {
        Ok(batch) => batch.records.first().map_or(-2.0, |&i| i as f64),
        Err(_) => -1.0,
    }
}

/// Compares the results passed to `take` with the expected ones. The report names the kind of error, because times vary.
fn compare(input: String, got: &[f64], expected: &[f64]) -> Verdict {
    if got == expected {
        return Ok(());
    }
    let sorted = |list: &[f64]| {
        let mut list = list.to_vec();
        list.sort_by(f64::total_cmp);
        list
    };
    let good: Vec<f64> = expected.iter().copied().filter(|&x| x >= 0.0).collect();
    let kind = if sorted(got) == sorted(expected) {
        1
    } else if got == good {
        2
    } else if expected.starts_with(got) {
        3
    } else {
        4
    };
    let show = |list: &[f64]| {
        let words: Vec<String> = list
            .iter()
            .map(|&x| if x < 0.0 { "Err".into() } else { x.to_string() })
            .collect();
        let text = words.join(" ");
        if text.len() > 50 {
            format!("{} …", &text[..48])
        } else {
            text
        }
    };
    let lines = vec![
        format!("expected  {}", show(expected)),
        format!("got       {}", show(got)),
    ];
    told(input, "results passed to `take`", &[kind], lines)
}

/// Odd numbers take longer, so that they arrive late.
fn dawdle(i: usize) {
    thread::sleep(Duration::from_millis([0, 2, 0, 3, 1][i % 5]));
}

pub fn delivers_results_in_order(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    for (count, workers, ahead) in [(draw.whole(14, 20), 3, 5), (7, 1, 1), (2, 4, 4), (0, 2, 2)] {
        let input = format!(
            "count {count}, {workers} workers, {ahead} ahead; make(1), make(3), make(6), make(8) … are slow"
        );
        given(input.clone());
        let mut got = Vec::new();
        let make = |i| {
            dawdle(i);
            Ok(numbered(i))
        };
        (answer.prefetched)(count, workers, ahead, &make, &mut |made| {
            got.push(number(&made));
            true
        });
        let expected: Vec<f64> = (0..count).map(|i| i as f64).collect();
        compare(input, &got, &expected)?;
    }
    Ok(())
}

pub fn runs_workers_in_parallel(answer: &Lesson03) -> Verdict {
    let workers = draw().whole(2, 4);
    let input = format!(
        "count 12, {workers} workers, {} ahead; make waits until {workers} run at a time, for a while",
        2 * workers
    );
    given(input.clone());
    // Running now, the most so far, and whether a call still waits for more.
    let (state, changed) = (Mutex::new((0usize, 0usize, true)), Condvar::new());
    let caller = thread::current().id();
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let make = |i| {
        let mut now = lock();
        now.0 += 1;
        now.1 = now.1.max(now.0);
        changed.notify_all();
        let alone = |now: &mut (usize, usize, bool)| now.1 < workers && now.2;
        // The calling thread does not wait: if it makes everything itself, no other would arrive.
        let patience = Duration::from_millis(if thread::current().id() == caller { 0 } else { 300 });
        let waited = changed.wait_timeout_while(now, patience, alone);
        waited.unwrap_or_else(PoisonError::into_inner).0.2 = false;
        changed.notify_all();
        // Time for one call too many to appear.
        thread::sleep(Duration::from_millis(if i < workers { 25 } else { 1 }));
        lock().0 -= 1;
        Ok(numbered(i))
    };
    (answer.prefetched)(12, workers, 2 * workers, &make, &mut |_| true);
    let most = lock().1;
    if most == workers {
        return Ok(());
    }
    let lines = vec![format!("expected  {workers}"), format!("got       {most}")];
    told(
        input,
        "most calls of `make` at a time",
        &[usize::from(most > workers)],
        lines,
    )
}

pub fn starts_at_most_ahead_jobs(answer: &Lesson03) -> Verdict {
    let ahead = draw().whole(3, 6);
    let case = given(format!(
        "count 30, 2 workers, {ahead} ahead; make(0) is slow, and so is `take` at first"
    ));
    let (given_out, beyond) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let make = |i| {
        // make(i) may start when take was called for i − ahead.
        if i >= given_out.load(SeqCst) + ahead {
            beyond.fetch_add(1, SeqCst);
        }
        thread::sleep(Duration::from_millis(if i == 0 { 15 } else { 0 }));
        Ok(numbered(i))
    };
    (answer.prefetched)(30, 2, ahead, &make, &mut |_| {
        let before = given_out.fetch_add(1, SeqCst);
        thread::sleep(Duration::from_millis(if before < 3 { 5 } else { 0 }));
        true
    });
    let said = format!("more than {ahead} started and not yet passed to `take`");
    case.require("calls in progress", beyond.into_inner() == 0, said)
}

pub fn calls_make_once_for_each(answer: &Lesson03) -> Verdict {
    let count = draw().whole(10, 14);
    for count in [count, 0] {
        let case = given(format!("count {count}, 3 workers, 4 ahead; make(2) is an Err"));
        let asked = Mutex::new(vec![0usize; count.max(1)]);
        let make = |i| {
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            let beyond = i >= asked.len();
            if beyond {
                asked.resize(i + 1, 0);
            }
            asked[i] += 1;
            drop(asked);
            if i == 2 {
                Err(anyhow!("two"))
            } else {
                Ok(numbered(i))
            }
        };
        (answer.prefetched)(count, 3, 4, &make, &mut |_| true);
        let got = asked.into_inner().unwrap_or_else(PoisonError::into_inner);
        let expected = if count == 0 { vec![0usize] } else { vec![1; count] };
        case.close("calls of `make` for each number", &got, &expected)?;
    }
    Ok(())
}

pub fn delivers_an_error_in_its_place(answer: &Lesson03) -> Verdict {
    let (mut draw, count) = (draw(), 12);
    let (a, b) = (draw.whole(1, 4), draw.whole(6, 9));
    let input = format!("count {count}, 3 workers, 4 ahead; make({a}) and make({b}) are Err");
    given(input.clone());
    let make = |i| {
        dawdle(i);
        if i == a || i == b {
            Err(anyhow!("a file that cannot be read"))
        } else {
            Ok(numbered(i))
        }
    };
    in_its_place(answer, input, count, &make, &[a, b])
}

pub fn turns_a_panic_into_an_error(answer: &Lesson03) -> Verdict {
    let (count, bad) = (10, draw().whole(3, 6));
    let input = format!("count {count}, 2 workers, 4 ahead; make({bad}) panics");
    given(input.clone());
    let make = |i| {
        if i == bad {
            // As `panic!`, but without output.
            std::panic::resume_unwind(Box::new("a broken file"));
        }
        Ok(numbered(i))
    };
    in_its_place(answer, input, count, &make, &[bad])
}

fn in_its_place(answer: &Lesson03, input: String, count: usize, make: crate::Make, bad: &[usize]) -> Verdict {
    let mut got = Vec::new();
    (answer.prefetched)(count, if bad.len() == 1 { 2 } else { 3 }, 4, make, &mut |made| {
        got.push(number(&made));
        true
    });
    let expected: Vec<f64> = (0..count)
        .map(|i| if bad.contains(&i) { -1.0 } else { i as f64 })
        .collect();
    compare(input, &got, &expected)
}

pub fn stops_when_take_returns_false(answer: &Lesson03) -> Verdict {
    let (last, ahead) = (draw().whole(2, 5), 4);
    let case = given(format!(
        "count 500, 2 workers, {ahead} ahead; `take` returns false at {last}"
    ));
    let (mut taken, made) = (0, AtomicUsize::new(0));
    let make = |i| {
        made.fetch_add(1, SeqCst);
        Ok(numbered(i))
    };
    (answer.prefetched)(500, 2, ahead, &make, &mut |_| {
        taken += 1;
        taken <= last
    });
    case.close("calls of `take`", taken, last + 1)?;
    let made = made.into_inner();
    let fine = made <= last + 1 + ahead;
    case.require(
        "calls of `make`",
        fine,
        "more than were in progress when `take` returned false",
    )
}

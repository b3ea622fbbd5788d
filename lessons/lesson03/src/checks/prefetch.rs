//! Checks for what `take` gets. Calls wait for events, never for a time, unless the answer is wrong.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Result, anyhow};
use canopy::loader::Batch;
use grader::{Verdict, draw, given};

use super::{told, unless_to_do};
use crate::Lesson03;

/// A batch that contains its number.
pub fn numbered(i: usize) -> Batch {
    Batch {
        points: Vec::new(),
        channels: 3,
        labels: Vec::new(),
        records: vec![i],
    }
}

/// The number of a batch; −1 for an error.
fn number(made: &Result<Batch>) -> f64 {
    match made {
        Ok(batch) => batch.records.first().map_or(-2.0, |&i| i as f64),
        Err(_) => -1.0,
    }
}

/// What calls of `make` and `take` tell each other.
#[derive(Default)]
pub struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub struct State {
    pub started: Vec<usize>,
    pub finished: Vec<usize>,
    /// Calls of `take`.
    pub taken: usize,
    /// Calls of `make` that run now, and the most at a time.
    pub running: usize,
    pub most: usize,
    /// A call has waited in vain: no other waits.
    pub given_up: bool,
}

/// How many times a call that waits is woken without news before it gives up. On a loaded machine a wait is longer, so the
/// calls that it waits for get their turn as well.
pub const PATIENCE: usize = 150;
/// As [`PATIENCE`], to see whether something starts that should not.
pub const GRACE: usize = 6;

impl Desk {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    pub fn start(&self, i: usize) {
        self.note(|s| {
            s.started.push(i);
            s.running += 1;
            s.most = s.most.max(s.running);
        });
    }

    pub fn finish(&self, i: usize) {
        self.note(|s| {
            s.finished.push(i);
            s.running -= 1;
        });
    }

    /// Waits until something holds; false if it gave up.
    pub fn wait(&self, patience: usize, until: impl Fn(&State) -> bool) -> bool {
        let (mut state, mut left) = (self.lock(), patience);
        while !until(&state) {
            if left == 0 {
                return false;
            }
            let woken = self.changed.wait_timeout(state, Duration::from_millis(2));
            let (now, time) = woken.unwrap_or_else(PoisonError::into_inner);
            (state, left) = (now, left - usize::from(time.timed_out()));
        }
        true
    }

    /// Waits for what a right answer does, once.
    pub fn expect(&self, until: impl Fn(&State) -> bool) -> bool {
        let held = self.wait(PATIENCE, |s| s.given_up || until(s)) && !self.lock().given_up;
        if !held {
            self.note(|s| s.given_up = true);
        }
        held
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
    let first = expected.iter().position(|&x| x < 0.0).unwrap_or(expected.len());
    let at_the_end = || got.starts_with(&good) && !good.is_empty() && good.len() < got.len();
    let kind = if sorted(got) == sorted(expected) {
        if at_the_end() { 7 } else { 1 }
    } else if got == good {
        2
    } else if !expected.starts_with(got) {
        3
    } else if got.len() == first || got.len() == first + 1 {
        4
    } else if got.len() + 1 == expected.len() {
        5
    } else {
        6
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

pub fn delivers_results_in_order(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    for (count, workers, ahead) in [
        (draw.whole(14, 20), 2, 6),
        (7, 1, 1),
        (2, 4, 4),
        (9, 3, 3),
        (1, 1, 3),
    ] {
        let input = format!("count {count}, {workers} workers, {ahead} ahead; make(0) ends late");
        given(input.clone());
        let (desk, mut got) = (Desk::default(), Vec::new());
        let caller = std::thread::current().id();
        let make = |i| {
            desk.start(i);
            // Two results arrive before that of 0: whoever starts the next one has delivered the one before.
            if i == 0 && ahead == 6 && std::thread::current().id() != caller {
                desk.expect(|s| s.started.len() >= 4);
            }
            desk.finish(i);
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

pub fn delivers_an_error_in_its_place(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // More errors than workers.
    let bad = [
        draw.whole(1, 3),
        draw.whole(5, 6),
        draw.whole(7, 8),
        draw.whole(9, 10),
    ];
    let input = format!("count 14, 2 workers, 4 ahead; make(i) is Err for i in {bad:?}");
    given(input.clone());
    let make = |i| {
        if bad.contains(&i) {
            Err(anyhow!("scan-{i}.laz: not a LAZ file"))
        } else {
            Ok(numbered(i))
        }
    };
    let said = in_its_place(answer, input.clone(), 14, &make, &bad)?;
    for (i, text) in bad.iter().zip(said) {
        if !text.contains(&format!("scan-{i}.laz: not a LAZ file")) {
            let lines = vec![
                format!("expected  scan-{i}.laz: not a LAZ file"),
                format!("got       {}", text.chars().take(50).collect::<String>()),
            ];
            return told(input, "message of the error", &[1], lines);
        }
    }
    Ok(())
}

pub fn turns_a_panic_into_an_error(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let bad = [draw.whole(2, 4), draw.whole(5, 6), draw.whole(7, 8), 11];
    let input = format!("count 12, 2 workers, 4 ahead; make(i) panics for i in {bad:?}");
    given(input.clone());
    // A payload need not be a text.
    let payloads = ["&str", "String", "number"];
    let mut verdicts: Vec<Verdict> = Vec::new();
    for payload in payloads {
        verdicts.push(panics(answer, &input, &bad, payload));
        // One after the first that is wrong is run only if an earlier one was right: it might take its time.
        if verdicts[0].is_err() {
            break;
        }
    }
    let bad = verdicts.iter().position(Result::is_err);
    match bad {
        Some(at) if at > 0 => {
            let lines = vec![
                "expected  an Err, whatever the payload of the panic".into(),
                format!("got       an Err for {}, not for {}", payloads[0], payloads[at]),
            ];
            told(input, "panics with another payload", &[3], lines)
        }
        _ => verdicts.swap_remove(0),
    }
}

/// Tests panics whose payload is of one type.
fn panics(answer: &Lesson03, input: &str, bad: &[usize], payload: &str) -> Verdict {
    let input = input.to_owned();
    let make = |i| {
        if bad.contains(&i) {
            // As `panic!`, but without output.
            match payload {
                "&str" => std::panic::resume_unwind(Box::new("a broken file")),
                "String" => std::panic::resume_unwind(Box::new(format!("file {i} is broken"))),
                _ => std::panic::resume_unwind(Box::new(i)),
            }
        }
        Ok(numbered(i))
    };
    match unless_to_do(|| in_its_place(answer, input.clone(), 12, &make, bad)) {
        Ok(verdict) => verdict.map(drop),
        Err(message) => {
            // All workers have ended, so that nobody sends: or the panic came through.
            let kind = if message.contains("RecvError") { 2 } else { 1 };
            let message: String = message
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(45)
                .collect();
            let lines = vec![
                "expected  no panic of `prefetched`".into(),
                format!("got       {message}"),
            ];
            told(input, "panics", &[kind], lines)
        }
    }
}

/// Tests that an error is in each of the places `bad`, and returns their messages.
fn in_its_place(
    answer: &Lesson03,
    input: String,
    count: usize,
    make: crate::Make,
    bad: &[usize],
) -> Result<Vec<String>, grader::Finding> {
    let (mut got, mut said) = (Vec::new(), Vec::new());
    (answer.prefetched)(count, 2, 4, make, &mut |made| {
        got.push(number(&made));
        said.extend(made.err().map(|e| format!("{e:#}")));
        true
    });
    let expected: Vec<f64> = (0..count)
        .map(|i| if bad.contains(&i) { -1.0 } else { i as f64 })
        .collect();
    compare(input, &got, &expected)?;
    Ok(said)
}

pub fn calls_make_once_for_each(answer: &Lesson03) -> Verdict {
    let count = draw().whole(10, 14);
    let case = given(format!(
        "count {count}, 3 workers, 4 ahead; make(2) and make(5) are Err"
    ));
    let desk = Desk::default();
    let make = |i| {
        desk.note(|s| s.started.push(i));
        match i {
            2 | 5 => Err(anyhow!("scan-{i}.laz")),
            _ => Ok(numbered(i)),
        }
    };
    (answer.prefetched)(count, 3, 4, &make, &mut |_| true);
    let started = &desk.lock().started;
    let most = started.iter().max().map_or(0, |&most| most + 1).max(count);
    let calls = |i: usize| started.iter().filter(|&&s| s == i).count();
    let got: Vec<usize> = (0..most).map(calls).collect();
    case.close("calls of `make` for each number", &got, &vec![1usize; count])
}

pub fn accepts_a_count_of_zero(answer: &Lesson03) -> Verdict {
    let case = given("count 0, 2 workers, 2 ahead");
    let (desk, mut taken) = (Desk::default(), 0usize);
    let make = |i| {
        desk.note(|s| s.started.push(i));
        Ok(numbered(i))
    };
    (answer.prefetched)(0, 2, 2, &make, &mut |_| {
        taken += 1;
        true
    });
    case.close("calls of `make`", desk.lock().started.len(), 0usize)?;
    case.close("calls of `take`", taken, 0usize)
}

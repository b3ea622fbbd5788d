//! 3.5: prefetching through workers. Calls wait for events, never for a time, unless the answer is wrong.

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{thread, time::Duration};

use anyhow::ensure;
use canopy::loader::Batch;
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use Call::{Make, Take};

use crate::{Lesson03, REFERENCE, answers};

/// What calls of `make` and `take` tell each other, and the check.
#[derive(Default)]
struct Desk(Mutex<State>, Condvar);

#[derive(Default)]
struct State {
    /// Numbers that `make` was called with, and those that it has made.
    started: Vec<usize>,
    finished: Vec<usize>,
    /// Whether `make(i)` was called before `take` for i − ahead.
    early: bool,
    /// Calls of `make` on the calling thread, and the most that ran at a time.
    on_caller: usize,
    most: usize,
    /// What `take` was called with: a number, or an error of a number.
    taken: Vec<String>,
    /// A call has waited in vain: no other waits.
    given_up: bool,
}

/// How many times a call that waits is woken before it gives up. On a loaded machine a wait is longer: the calls
/// that it waits for get their turn as well.
const PATIENCE: usize = 300;
/// As [`PATIENCE`], to see whether something starts that should not.
const GRACE: usize = 12;

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.1.notify_all();
    }

    /// Waits until something holds; false if it gave up.
    fn wait(&self, patience: usize, until: impl Fn(&State) -> bool) -> bool {
        let mut state = self.lock();
        for _ in 0..patience {
            if until(&state) {
                return true;
            }
            let woken = self.1.wait_timeout(state, Duration::from_millis(1));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Waits for what a right answer does, once; false if it gave up.
    fn expect(&self, until: impl Fn(&State) -> bool) -> bool {
        let held = self.wait(PATIENCE, |s| s.given_up || until(s)) && !self.lock().given_up;
        self.note(|s| s.given_up |= !held);
        held
    }
}

/// A call of `make` for a number, or of `take`, counted from 0.
#[derive(Clone, Copy, PartialEq)]
enum Call {
    Make(usize),
    Take(usize),
}

/// Count, workers, ahead.
type Sizes = (usize, usize, usize);

type Act = Box<dyn Fn(&Desk, Call) -> bool + Sync>;

/// One call of an answer: its arguments, what is compared, and what each call of `make` and `take` does; false: `make`
/// fails, or `take` wants no more. `about` describes this to the student.
struct Scene {
    sizes: Sizes,
    about: String,
    facts: fn(&State) -> Facts,
    act: Act,
}

fn scene(
    sizes: Sizes,
    about: impl Into<String>,
    facts: fn(&State) -> Facts,
    act: impl Fn(&Desk, Call) -> bool + Sync + 'static,
) -> Scene {
    let (about, act) = (about.into(), Box::new(act));
    Scene {
        sizes,
        about,
        facts,
        act,
    }
}

fn play(answer: &Lesson03, scene: &Scene) -> Facts {
    let caller = thread::current().id();
    let (count, workers, ahead) = scene.sizes;
    let desk = Desk::default();
    let make = |i| {
        desk.note(|s| {
            s.early |= i >= s.taken.len() + ahead;
            s.on_caller += usize::from(thread::current().id() == caller);
            s.started.push(i);
            s.most = s.most.max(s.started.len() - s.finished.len());
        });
        let good = (scene.act)(&desk, Make(i));
        desk.note(|s| s.finished.push(i));
        ensure!(good, "scan-{i}.laz: not a LAZ file");
        Ok(Batch::new(&[], 3, Vec::new(), vec![i]))
    };
    (answer.prefetched)(count, workers, ahead, &make, &mut |made| {
        let call = desk.lock().taken.len();
        let own = format!("scan-{call}.laz: not a LAZ file");
        let result = match made {
            Ok(batch) => batch.records[0].to_string(),
            Err(error) if format!("{error:#}").contains(&own) => format!("Err of {call}"),
            Err(_) => "Err".to_owned(),
        };
        desk.note(|s| s.taken.push(result));
        (scene.act)(&desk, Take(call))
    });
    desk.note(|s| s.started.sort_unstable());
    (scene.facts)(&desk.lock())
}

fn played(answer: &Lesson03, scene: Scene) -> Verdict {
    let ((count, workers, ahead), about) = (scene.sizes, &scene.about);
    let case = given(format!("count {count}, {workers} workers, {ahead} ahead{about}"));
    case.same(play(answer, &scene), play(&REFERENCE, &scene))
}

fn results(state: &State) -> Facts {
    // If results come in another order, the first two do not depend on time.
    Facts::default()
        .items(
            "the first two results passed to `take`",
            state.taken.iter().take(2),
        )
        .items("results passed to `take`", &state.taken)
        .values("calls of `make`, sorted", &state.started)
        .cause("Call `make` once for each number below `count`, and repeat no failed call.")
}

fn ended(state: &State) -> Facts {
    let running = state.started.len() - state.finished.len();
    Facts::default()
        .values("calls of `take`", state.taken.len())
        .text("whether make(i) begins too early", state.early.to_string())
        .cause("Send number i after `take` has returned for i − ahead; just before the call is too early.")
        .asked("after the call of `take` with result `i − ahead` has begun")
        .values("calls of `make` that run at the end", running)
}

pub const CHECKS: &[Check<Lesson03>] = rows! { "3.5";
    by played {
        delivers_results_in_order: "in order",
            "Pass each result to `take` once, in the order of the numbers: an early one waits for its turn." => |d| {
            let mut all = vec![scene((d.whole(14, 20), 2, 6), "; make(0) ends late", results, |desk, call| {
                // Two results arrive before result 0: a worker delivers one before it starts the next.
                let _ = call != Make(0) || desk.expect(|s| s.started.len() >= 4);
                true
            })];
            // Fewer results than `ahead`, or than workers, or none, as well.
            let sizes = [(7, 1, 1), (2, 4, 4), (9, 3, 3), (1, 1, 3), (3, 2, 6), (0, 2, 2)];
            all.extend(sizes.map(|sizes| scene(sizes, "", results, |_, _| true)));
            all
        };
        runs_workers_in_parallel: "threads in parallel",
            "Start `workers` new threads, all of them and no more, and hold no lock while `make` runs." => |d| {
            let workers = d.whole(3, 4);
            let facts = |s: &State| {
                let facts = Facts::default().values("calls of `make` on the calling thread", s.on_caller);
                facts.values("most calls of `make` at a time", s.most)
            };
            vec![scene((12, workers, 2 * workers), "; make waits until all workers run", facts, move |desk, call| {
                let all = matches!(call, Make(_)) && desk.expect(|s| s.most >= workers);
                let _ = all && desk.wait(GRACE, |s| s.most > workers);
                true
            })]
        };
        delivers_an_error_in_its_place: "Passes on an `Err`",
            "An `Err` is a result like any other: pass it on in its place, with its message, and go on." => |d| {
            // More errors than workers.
            let bad = [d.whole(1, 3), d.whole(5, 6), d.whole(7, 8), d.whole(9, 10)];
            let about = format!("; make(i) is Err for i in {bad:?}");
            vec![scene((14, 2, 4), about, results, move |_, call| !bad.map(Make).contains(&call))]
        };
        starts_at_most_ahead_jobs: "after the call of `take` with result `i − ahead` has begun",
            "Send number i after `take` has returned for i − ahead; just before the call is too early." => |d| {
            let late = |workers: usize, ahead: usize| {
                // Also workers with numbers of their own, 1, 3, 5 and so on, get as far as this.
                let enough = (ahead / 2).max(workers - 1);
                scene((20, workers, ahead), "; make(0) ends late", ended, move |desk, call| {
                    let _ = call == Make(0) && desk.expect(|s| s.finished.len() >= enough) && desk.wait(GRACE, |s| s.early);
                    true
                })
            };
            // Many short calls: a number that is sent just before `take` is called is seen by chance, in one of them.
            vec![late(2, d.whole(3, 5)), late(3, 3), scene((500, 2, 2), "", ended, |_, _| true)]
        };
        works_while_take_runs: "workers go on while `take` runs",
            "Send all numbers below i + ahead before `take(i)`, and give the results room for `ahead` of them." => |d| {
            let facts = |s: &State| Facts::default().text("whether `take` waits in vain", s.given_up.to_string());
            // A channel of one place shows only if `ahead` is at least 3 more than the workers.
            [(12, 2, 2 * d.whole(2, 3)), (12, 2, d.whole(5, 7)), (3, 2, 6)].map(|sizes| {
                scene(sizes, "; `take` waits for all that may be made", facts, move |desk, call| {
                    let Take(now) = call else { return true };
                    desk.expect(|s| (0..sizes.0.min(now + sizes.2)).all(|i| s.finished.contains(&i)));
                    true
                })
            }).into()
        };
        turns_a_panic_into_an_error: "a panic as one",
            "Catch a panic, of any payload, in each call of `make`, with `catch_unwind`, and send an `Err`." => |d| {
            let bad = [d.whole(2, 4), d.whole(5, 6), d.whole(7, 8), 11];
            let about = format!("; make(i) panics for i in {bad:?}");
            vec![scene((12, 2, 4), about, results, move |_, call| match bad.iter().position(|&i| call == Make(i)) {
                None => true,
                // As `panic!`, but without output.
                Some(0) => resume_unwind(Box::new("a broken file")),
                Some(1) => resume_unwind(Box::new("a broken file".to_owned())),
                Some(i) => resume_unwind(Box::new(i)),
            })]
        };
        stops_when_take_returns_false: "Once `take` returns false",
            "When `take` returns false, leave all loops: call it no more, and send no more numbers." => |d| {
            [d.whole(2, 5), 0].map(|last| {
                let about = format!("; `take` returns false for result {last}");
                // Later results arrive after the stop, one by one: who goes on gets each, and does not wait for ever.
                scene((500, 2, 4), about, ended, move |desk, call| match call {
                    Take(now) => now < last,
                    Make(i) => {
                        let _ = i <= last || desk.expect(|s| s.taken.len() > last);
                        let _ = (last + 2..last + 5).contains(&i) && desk.wait(GRACE, |s| s.taken.len() >= i);
                        true
                    }
                })
            }).into()
        };
        ends_idle_workers: "ends all threads",
            "When `take` returns false, end workers that wait: drop the sender of the numbers, on every path." => |d| {
            // A worker that is not woken waits for ever, and `prefetched` with it: the deadline of the check ends both.
            [((500, 2, 4), d.whole(1, 4)), ((500, 3, 6), 0), ((500, 1, 1), 2)].map(|(sizes, last)| {
                let until = last + sizes.2 - 1;
                let about = format!("; `take` waits until 0 to {until} are made, and returns false for {last}");
                scene(sizes, about, ended, move |desk, call| {
                    let made = |s: &State| (0..=until).all(|i| s.finished.contains(&i));
                    // A right answer ends whether the workers have become idle or not.
                    let _ = call == Take(last) && desk.expect(made) && desk.wait(GRACE, |_| false);
                    call != Take(last)
                })
            }).into()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson03>] = mistakes! { "3.5" prefetched;
    1 "Results are passed on as they arrive. An early result must wait for its turn.";
    2 "An error or a panic is skipped: pass an `Err` to `take`, which decides what to do.";
    3 "The result of `take` is ignored: false means stop.";
};

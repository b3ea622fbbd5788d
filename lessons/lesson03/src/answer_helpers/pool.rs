//! A pool of workers with other parts.

use super::*;

/// Switches of the workers. Only `flag` makes them hang, and only if they are idle when `take` returns false.
#[derive(Clone, Copy)]
pub struct Pool {
    /// Gives results in their order, not as they come.
    pub ordered: bool,
    /// When a number is given to the workers.
    pub sends: Sends,
    /// How many threads work.
    pub threads: fn(usize) -> usize,
    /// How often something is made, where the first time is an error.
    pub tries: usize,
    /// Keeps the lock on the jobs while it makes something.
    pub locks: bool,
    /// What becomes of an error: given, passed over, the end.
    pub on_error: OnError,
    /// What becomes of a panic.
    pub on_panic: OnError,
    /// A worker ends after a panic.
    pub dies: bool,
    /// Returns if no worker is left.
    pub gives_up: bool,
    /// Expects the payload of a panic to be a `&str`.
    pub unwraps: bool,
    /// Panics at the end if something panicked.
    pub panics_on: bool,
    /// The message of an error is another one.
    pub other_message: bool,
    /// Ends where `take` says so.
    pub stops: bool,
    /// Makes all where `take` says stop, and passes on no more.
    pub finishes: bool,
    /// One job is made whatever the count.
    pub at_least_one: bool,
    /// Workers end by a flag, which they read before they wait for a number; the sender of numbers is dropped too late.
    pub flag: bool,
}

/// Numbers that the workers have while result i is due.
#[derive(Clone, Copy, PartialEq)]
pub enum Sends {
    /// Those below i + ahead.
    Window,
    /// All.
    All,
    /// One more than the window.
    OneMore,
    /// The window, and one more right before `take`.
    BeforeTake,
    /// Those below i + workers.
    Workers,
    /// Those of the group of `ahead` to which i belongs.
    Groups,
}

#[derive(Clone, Copy, PartialEq)]
pub enum OnError {
    Give,
    Skip,
    End,
    /// Ends at the second one.
    EndSecond,
}

pub const POOL: Pool = Pool {
    ordered: true,
    sends: Sends::Window,
    threads: |workers| workers,
    tries: 1,
    locks: false,
    on_error: OnError::Give,
    on_panic: OnError::Give,
    dies: false,
    gives_up: false,
    unwraps: false,
    panics_on: false,
    other_message: false,
    stops: true,
    finishes: false,
    at_least_one: false,
    flag: false,
};

const PANICKED: &str = "it panicked";
const ODD: &str = "the payload is no &str";

/// A pool over the standard library's channels.
pub fn pooled(count: usize, workers: usize, ahead: usize, make: Make, take: Take, pool: Pool) {
    let (jobs, todo) = mpsc::channel::<usize>();
    let (done, results) = mpsc::channel::<(usize, Result<Batch>)>();
    let todo = Mutex::new(todo);
    let lock = || todo.lock().unwrap_or_else(PoisonError::into_inner);
    let one = |i: usize| {
        let mut made = Err(anyhow!("never made"));
        for _ in 0..pool.tries {
            made = catch_unwind(AssertUnwindSafe(|| make(i))).unwrap_or_else(|payload| {
                let odd = pool.unwraps && !payload.is::<&str>();
                Err(anyhow!(if odd { ODD } else { PANICKED }))
            });
            if made.is_ok() {
                break;
            }
        }
        made
    };
    let panicked = |made: &Result<Batch>| made.as_ref().is_err_and(|e| e.to_string() == PANICKED);
    let mut any_panicked = false;
    let (stop, mut kept) = (AtomicBool::new(false), pool.flag.then(|| jobs.clone()));
    let ends_by_flag = || pool.flag && stop.load(SeqCst);
    thread::scope(|scope| {
        for _ in 0..(pool.threads)(workers) {
            let done = done.clone();
            scope.spawn(move || {
                while !ends_by_flag() {
                    let held = lock();
                    let Ok(i) = held.recv() else { return };
                    let held = pool.locks.then_some(held);
                    let made = one(i);
                    drop(held);
                    let dies = pool.dies && panicked(&made);
                    if done.send((i, made)).is_err() || dies {
                        return;
                    }
                }
            });
        }
        drop(done);
        let jobs = jobs;
        let (mut sent, mut early) = (0, HashMap::new());
        let mut send_to = |end: usize| {
            for i in sent..count.min(end) {
                let _ = jobs.send(i);
            }
            sent = sent.max(count.min(end));
        };
        if pool.at_least_one && count == 0 {
            let _ = make(0);
        }
        let (mut ended, mut errors) = (false, 0);
        for i in 0..count {
            send_to(match pool.sends {
                Sends::Window | Sends::BeforeTake => i + ahead,
                Sends::All => count,
                Sends::OneMore => i + ahead + 1,
                Sends::Workers => i + workers,
                Sends::Groups => i / ahead * ahead + ahead,
            });
            // As they come where every even one is slow: so it is wrong in the same way at each run.
            let turn = if pool.ordered || ahead < 2 || (i | 1) >= count {
                i
            } else {
                i ^ 1
            };
            while !early.contains_key(&turn) {
                let (k, made) = match results.recv() {
                    Ok(received) => received,
                    Err(_) if pool.gives_up => return,
                    Err(e) => panic!("called `Result::unwrap()` on an `Err` value: {e:?}"),
                };
                early.insert(k, made);
            }
            let Some(mut made) = early.remove(&turn) else {
                return;
            };
            if made.as_ref().is_err_and(|e| e.to_string() == ODD) {
                panic!("{ODD}");
            }
            if made.is_err() {
                any_panicked |= panicked(&made);
                match if panicked(&made) {
                    pool.on_panic
                } else {
                    pool.on_error
                } {
                    OnError::Skip => continue,
                    OnError::End => ended = true,
                    OnError::EndSecond => {
                        errors += 1;
                        ended = errors == 2;
                    }
                    OnError::Give => {}
                }
                if pool.other_message {
                    made = Err(anyhow!("a worker failed"));
                }
            }
            if pool.sends == Sends::BeforeTake {
                send_to(i + ahead + 1);
                thread::yield_now();
            }
            let more = take(made);
            if pool.finishes && !more {
                send_to(count);
            }
            if ended || (pool.stops && !more) {
                stop.store(true, SeqCst);
                return;
            }
        }
        drop(kept.take());
    });
    if pool.panics_on && any_panicked {
        panic!("{PANICKED}");
    }
}

/// What the workers below share.
#[derive(Default)]
struct Shared {
    next: usize,
    /// Numbers below this may be made.
    until: usize,
    early: HashMap<usize, Result<Batch>>,
    stop: bool,
}

/// A pool over a condition variable, which is notified of everything but the end: workers that wait then hang.
pub fn unnotified(count: usize, workers: usize, ahead: usize, make: Make, take: Take) {
    let (shared, changed) = (Mutex::new(Shared::default()), Condvar::new());
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let wait = |asleep: &dyn Fn(&Shared) -> bool| {
        let woken = changed.wait_while(lock(), |shared| asleep(shared));
        woken.unwrap_or_else(PoisonError::into_inner)
    };
    let work = || {
        loop {
            let mut now = wait(&|s| !s.stop && s.next < count && s.next >= s.until);
            if now.stop || now.next == count {
                return;
            }
            let i = now.next;
            now.next += 1;
            drop(now);
            let made = catch_unwind(AssertUnwindSafe(|| make(i))).unwrap_or_else(|_| Err(anyhow!(PANICKED)));
            lock().early.insert(i, made);
            changed.notify_all();
        }
    };
    thread::scope(|scope| {
        (0..workers).for_each(|_| drop(scope.spawn(work)));
        for i in 0..count {
            lock().until = i + ahead;
            changed.notify_all();
            let made = wait(&|s| !s.early.contains_key(&i)).early.remove(&i);
            if made.is_some_and(|made| !take(made)) {
                lock().stop = true;
                return;
            }
        }
    });
}

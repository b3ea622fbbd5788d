//! Results computed ahead by worker threads and delivered in order.

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use anyhow::{Result, anyhow};
use crossbeam_channel::{bounded, unbounded};

/// Computes `make(0)`, `make(1)`, … `make(count − 1)` on `workers` threads. Passes the results to `take` in this order,
/// on the caller's thread, until there are no more or `take` returns false.
///
/// Memory is bounded: at most `ahead` results have been begun and not yet been passed to `take`. An error is a result
/// like any other, and a panic of `make` becomes an error; the results after it follow. When `prefetched`
/// returns, all its threads have exited, even if `take` panics. `workers` and `ahead` count as at least 1.
pub fn prefetched<T: Send>(
    count: usize,
    workers: usize,
    ahead: usize,
    make: &(dyn Fn(usize) -> Result<T> + Sync),
    take: &mut dyn FnMut(Result<T>) -> bool,
) {
    let ahead = ahead.max(1);
    let (jobs, todo) = unbounded::<usize>();
    // The channel has room for every result that can be in preparation, so `send` never blocks a worker.
    let (finished, done) = bounded(ahead);
    thread::scope(|scope| {
        for worker in 0..workers.clamp(1, ahead) {
            let (todo, finished) = (todo.clone(), finished.clone());
            let work = move || {
                for i in todo {
                    let made = catch_unwind(AssertUnwindSafe(|| make(i)))
                        .unwrap_or_else(|panic| Err(Panicked::new(i, &*panic).into()));
                    if finished.send((i, made)).is_err() {
                        return;
                    }
                }
            };
            // If the system refuses to start a thread, the other workers do its work.
            let _ = thread::Builder::new()
                .name(format!("prefetch-{worker}"))
                .spawn_scoped(scope, work);
        }
        // The workers hold the only senders now: if there are none, `recv` returns an error instead of waiting.
        drop(finished);
        // They are moved into this closure, so that they are dropped when it returns or panics. Then the workers exit.
        let (jobs, todo, done) = (jobs, todo, done);
        let (mut begun, mut early) = (0, HashMap::new());
        for i in 0..count {
            while begun < count.min(i + ahead) {
                // Cannot fail, because `todo` still exists.
                let _ = jobs.send(begun);
                begun += 1;
            }
            while !early.contains_key(&i) {
                match done.recv() {
                    Ok((at, made)) => drop(early.insert(at, made)),
                    Err(_) => drop(early.insert(i, Err(anyhow!("there is no thread to prepare batch {i}")))),
                }
            }
            if let Some(made) = early.remove(&i)
                && !take(made)
            {
                break;
            }
        }
        // Jobs that no worker has begun are no longer needed.
        drop(jobs);
        todo.try_iter().for_each(drop);
    });
}

/// The error in place of a result whose computation panicked.
#[derive(Debug)]
pub struct Panicked {
    index: usize,
    message: String,
}

impl Panicked {
    fn new(index: usize, panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Self {
            index,
            message: text.unwrap_or("no message").to_owned(),
        }
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "preparing batch {} panicked: {}", self.index, self.message)
    }
}

impl std::error::Error for Panicked {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn no_workers_count_as_one_and_a_panic_is_an_error_in_its_place() {
        let make = |i: usize| match i {
            7 => std::panic::resume_unwind(Box::new(i)),
            i => Ok(i),
        };
        let mut got = Vec::new();
        prefetched(9, 0, 0, &make, &mut |made: Result<usize>| {
            got.push(made.map_err(|e| e.to_string()));
            true
        });
        let mut expected: Vec<_> = (0..9).map(Ok).collect();
        expected[7] = Err("preparing batch 7 panicked: no message".into());
        assert_eq!(got, expected);
    }

    #[test]
    fn threads_end_if_take_panics() {
        let live = AtomicUsize::new(0);
        let make = |i: usize| {
            live.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(1));
            live.fetch_sub(1, Ordering::SeqCst);
            Ok(i)
        };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            prefetched(50, 3, 6, &make, &mut |_: Result<usize>| {
                std::panic::resume_unwind(Box::new("enough"))
            });
        }));
        assert!(ended.is_err());
        assert_eq!(live.into_inner(), 0);
    }
}

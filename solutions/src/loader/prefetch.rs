//! Things made ahead by threads and taken in order, for one pass over them. The trainer's [`super::Loader`] keeps its threads
//! from epoch to epoch; here they live as long as the call.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use anyhow::{Result, anyhow};
use crossbeam_channel::{bounded, unbounded};

use super::workers::message;

/// Makes `make(0)`, `make(1)`, … `make(count − 1)` on `workers` threads, and gives each to `take` in this order, on the
/// thread of the caller, until there are no more or `take` says false.
///
/// At most `ahead` are begun and not yet given to `take`, so memory is bounded. An error is given in its place, a panic
/// of `make` as an error that repeats its words; what comes after follows. No thread is left when it returns, also where
/// `take` panics. `workers` and `ahead` count at least 1.
pub fn prefetched<T: Send>(
    count: usize,
    workers: usize,
    ahead: usize,
    make: &(dyn Fn(usize) -> Result<T> + Sync),
    take: &mut dyn FnMut(Result<T>) -> bool,
) {
    let ahead = ahead.max(1);
    let (jobs, todo) = unbounded::<usize>();
    // Room for all that can be under way, so that no worker ever waits to hand over.
    let (finished, done) = bounded(ahead);
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, ahead) {
            let (todo, finished) = (todo.clone(), finished.clone());
            scope.spawn(move || {
                for i in todo {
                    let made = catch_unwind(AssertUnwindSafe(|| make(i))).unwrap_or_else(|panic| {
                        Err(anyhow!("making batch {i} panicked: {}", message(panic)))
                    });
                    if finished.send((i, made)).is_err() {
                        return;
                    }
                }
            });
        }
        // Owned by this closure: dropped on every way out of it, which ends the workers that the scope waits for.
        let (jobs, todo, done) = (jobs, todo, done);
        let (mut begun, mut early) = (0, HashMap::new());
        for i in 0..count {
            while begun < count.min(i + ahead) {
                // Cannot fail: `todo` is still here.
                let _ = jobs.send(begun);
                begun += 1;
            }
            while !early.contains_key(&i) {
                match done.recv() {
                    Ok((at, made)) => drop(early.insert(at, made)),
                    Err(_) => drop(early.insert(i, Err(anyhow!("no thread is left to make batch {i}")))),
                }
            }
            if let Some(made) = early.remove(&i)
                && !take(made)
            {
                break;
            }
        }
        // What was asked for and is not begun needs no more work.
        drop(jobs);
        todo.try_iter().for_each(drop);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::ensure;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn order_is_kept_and_errors_and_panics_come_in_their_place() {
        for (workers, ahead) in [(1, 1), (3, 2), (4, 9), (0, 0)] {
            let mut got = Vec::new();
            let make = |i: usize| {
                thread::sleep(Duration::from_micros(200 * (7 * i % 5) as u64));
                ensure!(i != 4, "four");
                if i == 6 {
                    std::panic::resume_unwind(Box::new("six"));
                }
                Ok(i)
            };
            prefetched(20, workers, ahead, &make, &mut |made: Result<usize>| {
                got.push(made.map_err(|e| e.to_string()));
                true
            });
            let expected: Vec<Result<usize, String>> = (0..20)
                .map(|i| match i {
                    4 => Err("four".into()),
                    6 => Err("making batch 6 panicked: six".into()),
                    i => Ok(i),
                })
                .collect();
            assert_eq!(got, expected, "{workers} workers, {ahead} ahead");
        }
    }

    #[test]
    fn no_more_than_asked_is_begun_ahead_and_nothing_after_the_end() {
        let (begun, mut taken, most) = (AtomicUsize::new(0), 0, AtomicUsize::new(0));
        let make = |i: usize| {
            begun.fetch_max(i + 1, Ordering::SeqCst);
            Ok(())
        };
        prefetched(100, 4, 3, &make, &mut |_: Result<()>| {
            thread::sleep(Duration::from_millis(1));
            most.fetch_max(begun.load(Ordering::SeqCst) - taken, Ordering::SeqCst);
            taken += 1;
            taken < 10
        });
        assert_eq!(taken, 10);
        assert!(most.into_inner() <= 3);
        assert!(begun.into_inner() <= 12);
    }

    #[test]
    fn threads_end_where_taking_panics() {
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

    #[test]
    fn nothing_to_make_is_no_trouble() {
        prefetched(0, 2, 2, &|_| Ok(()), &mut |_| panic!("there is nothing"));
    }
}

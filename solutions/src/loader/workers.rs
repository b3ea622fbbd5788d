//! Worker threads that prepare batches ahead of the trainer.
//!
//! Batches come out in order whoever finished first; at most `workers × prefetch` are under way, so
//! memory is bounded; an error or a panic surfaces at its own batch and the next one can still be had.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::{Batch, Collate};

struct Job {
    ticket: u64,
    epoch: u64,
    records: Vec<usize>,
}

/// A pool of threads that turns lists of records into batches. The threads live as long as the loader.
pub struct Loader {
    jobs: Option<Sender<Job>>,
    done: Receiver<(u64, Result<Batch>)>,
    threads: Vec<JoinHandle<()>>,
    in_flight: usize,
    next_ticket: u64,
}

impl Loader {
    /// Starts `workers` threads (at least one), each with up to `prefetch` batches (at least one) under way.
    ///
    /// # Errors
    /// The system's, where it grants no more threads.
    pub fn new(collate: Arc<Collate>, workers: usize, prefetch: usize) -> Result<Self> {
        let workers = workers.max(1);
        let (jobs, todo) = unbounded::<Job>();
        let in_flight = workers * prefetch.max(1);
        let (finished, done) = bounded(in_flight);
        let threads = (0..workers)
            .map(|i| {
                let (todo, finished, collate) = (todo.clone(), finished.clone(), collate.clone());
                std::thread::Builder::new()
                    .name(format!("loader-{i}"))
                    .spawn(move || work(&collate, &todo, &finished))
            })
            .collect::<std::io::Result<Vec<_>>>()?;
        Ok(Self {
            jobs: Some(jobs),
            done,
            threads,
            in_flight,
            next_ticket: 0,
        })
    }

    /// The batches of epoch `epoch`, in the order of `batches`.
    pub fn epoch(&mut self, epoch: u64, batches: Vec<Vec<usize>>) -> EpochBatches<'_> {
        // What an epoch that was broken off left behind bears older tickets and is passed over.
        let first = self.next_ticket;
        let mut this = EpochBatches {
            end: first + batches.len() as u64,
            loader: self,
            epoch,
            waiting: batches.into_iter(),
            next: first,
            early: HashMap::new(),
            waited: Duration::ZERO,
        };
        for _ in 0..this.loader.in_flight {
            this.submit();
        }
        this
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        // Closing both ends wakes a worker wherever it waits.
        self.jobs = None;
        self.done = crossbeam_channel::never();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(collate: &Collate, todo: &Receiver<Job>, finished: &Sender<(u64, Result<Batch>)>) {
    for job in todo {
        let batch = catch_unwind(AssertUnwindSafe(|| collate.batch(&job.records, job.epoch))).unwrap_or_else(
            |panic| {
                let trees: Vec<&str> = job
                    .records
                    .iter()
                    .map(|&r| collate.data.records[r].tree.as_str())
                    .collect();
                Err(anyhow!(
                    "a loader worker panicked over the batch of {}: {}",
                    trees.join(", "),
                    message(panic)
                ))
            },
        );
        if finished.send((job.ticket, batch)).is_err() {
            return;
        }
    }
}

/// What a panic said. Its payload is dropped here, which may panic in its turn: that must end no worker, or the batch that it
/// had would never come.
pub(super) fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned();
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
    text
}

/// The batches of one epoch, in order.
pub struct EpochBatches<'a> {
    loader: &'a mut Loader,
    epoch: u64,
    waiting: std::vec::IntoIter<Vec<usize>>,
    next: u64,
    end: u64,
    early: HashMap<u64, Result<Batch>>,
    waited: Duration,
}

impl EpochBatches<'_> {
    /// How long the trainer has waited for batches.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    fn submit(&mut self) {
        if let (Some(records), Some(jobs)) = (self.waiting.next(), &self.loader.jobs) {
            let ticket = self.loader.next_ticket;
            self.loader.next_ticket += 1;
            // Fails only when every worker is gone, which `next` reports.
            let _ = jobs.send(Job {
                ticket,
                epoch: self.epoch,
                records,
            });
        }
    }
}

impl Iterator for EpochBatches<'_> {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.end {
            return None;
        }
        let start = Instant::now();
        let batch = loop {
            if let Some(batch) = self.early.remove(&self.next) {
                break batch;
            }
            match self.loader.done.recv() {
                Ok((ticket, batch)) if ticket >= self.next => drop(self.early.insert(ticket, batch)),
                Ok(_) => {}
                Err(_) => {
                    break Err(anyhow!(
                        "every loader worker has died: the system may have ended them"
                    ));
                }
            }
        };
        self.waited += start.elapsed();
        self.next += 1;
        self.submit();
        Some(batch)
    }
}

impl Drop for EpochBatches<'_> {
    fn drop(&mut self) {
        // Take what is under way, so that no worker blocks on a full queue and the next epoch starts clean.
        let mut under_way = (self.loader.next_ticket - self.next) as usize - self.early.len();
        while under_way > 0 && self.loader.done.recv().is_ok() {
            under_way -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::{Augment, Features, Frame, batches, epoch_order};
    use canopy_data::{Cloud, CloudSource, Dataset, Scan, TreeRecord};

    /// Panics when it is dropped, as what somebody panics with may.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("dropped"));
        }
    }

    /// Clouds of (index, 0, 0) … ; record 13 cannot be read, record 17 panics, 19 with a bomb.
    #[derive(Debug)]
    struct Source;

    impl CloudSource for Source {
        fn cloud(&self, index: usize) -> Result<Cloud> {
            if index == 19 {
                std::panic::resume_unwind(Box::new(Bomb));
            }
            assert_ne!(index, 17, "seventeen");
            anyhow::ensure!(index != 13, "bad luck");
            std::thread::sleep(Duration::from_micros(137 * (index as u64 % 5)));
            let xyz = (0..50)
                .map(|i| [index as f32 + (i * i) as f32, i as f32, (i % 7) as f32])
                .collect();
            Ok(Cloud::from_points(xyz))
        }
    }

    fn collate() -> Arc<Collate> {
        let records = (0..40)
            .map(|i| TreeRecord {
                tree: format!("t{i}"),
                species: i % 3,
                plot: "p".into(),
                scan: Scan::Unknown,
                source: format!("file {i}"),
            })
            .collect();
        let species = ["a", "b", "c"].map(String::from).to_vec();
        let data = Dataset::new("test".into(), species, records, String::new(), Arc::new(Source));
        let augment = Augment {
            turn: true,
            jitter: 0.01,
            scale: 0.1,
            point_dropout: 0.1,
        };
        Arc::new(Collate {
            data,
            points: 16,
            frame: Frame::Sphere,
            features: Features::Xyz,
            augment,
            seed: 4,
        })
    }

    fn good() -> Vec<Vec<usize>> {
        let order: Vec<usize> = epoch_order(40, 1, 0)
            .into_iter()
            .filter(|i| ![13, 17, 19].contains(i))
            .collect();
        batches(&order, 3, false)
    }

    #[test]
    fn any_number_of_workers_gives_the_same_batches_in_order() {
        let expected: Vec<Batch> = good().iter().map(|b| collate().batch(b, 6).unwrap()).collect();
        for (workers, prefetch) in [(1, 1), (2, 2), (5, 1), (3, 4)] {
            let mut loader = Loader::new(collate(), workers, prefetch).unwrap();
            for _ in 0..2 {
                let got: Vec<Batch> = loader.epoch(6, good()).map(Result::unwrap).collect();
                assert_eq!(got, expected, "{workers} workers, prefetch {prefetch}");
            }
        }
    }

    #[test]
    fn errors_and_panics_surface_at_their_batch_and_the_rest_follows() {
        let mut loader = Loader::new(collate(), 3, 2).unwrap();
        let all: Vec<Vec<usize>> = (0..20).map(|i| vec![2 * i, 2 * i + 1]).collect();
        let got: Vec<Result<Batch>> = loader.epoch(0, all).collect();
        for (i, batch) in got.iter().enumerate() {
            match (i, batch) {
                (6, Err(e)) => assert_eq!(format!("{e:#}"), "tree t13 (file 13): bad luck"),
                (8, Err(e)) => {
                    let said = format!("{e:#}");
                    assert!(
                        said.starts_with("a loader worker panicked over the batch of t16, t17: "),
                        "{said}"
                    );
                    assert!(said.contains("seventeen"), "{said}");
                }
                (9, Err(e)) => assert!(format!("{e:#}").contains("t18, t19: no message"), "{e:#}"),
                (_, Ok(b)) => assert_eq!(b.records, [2 * i, 2 * i + 1]),
                (_, Err(e)) => panic!("batch {i}: {e:#}"),
            }
        }
    }

    #[test]
    fn an_epoch_broken_off_leaves_the_next_one_whole() {
        let mut loader = Loader::new(collate(), 4, 3).unwrap();
        for taken in [0, 1, 5] {
            assert_eq!(loader.epoch(0, good()).take(taken).count(), taken);
            let got: Vec<usize> = loader.epoch(1, good()).flat_map(|b| b.unwrap().records).collect();
            assert_eq!(got, good().concat());
        }
    }

    #[test]
    fn dropping_the_loader_in_the_middle_ends_its_threads() {
        let mut loader = Loader::new(collate(), 4, 1).unwrap();
        assert!(loader.epoch(0, good()).next().is_some());
        drop(loader);
    }
}

//! Batches prepared ahead of the trainer by worker threads.

use std::{sync::Arc, thread};

use anyhow::{Result, anyhow};
use crossbeam_channel::bounded;

use super::collate::{Batch, Collate};
use super::prefetch::{Panicked, prefetched};

/// Prepares the batches of an epoch on worker threads, and hands them out in order.
#[derive(Debug)]
pub struct Loader {
    collate: Arc<Collate>,
    workers: usize,
    ahead: usize,
}

impl Loader {
    /// A loader with `workers` threads and up to `prefetch` batches in preparation per thread, both at least one.
    pub fn new(collate: Arc<Collate>, workers: usize, prefetch: usize) -> Self {
        let workers = workers.max(1);
        Self {
            collate,
            workers,
            ahead: workers * prefetch.max(1),
        }
    }

    /// The batches of epoch `epoch`, in the order of `batches`. An error arrives in the place of its batch, and the batches
    /// after it follow. The threads exit after the last batch, or at their next one when the iterator is dropped.
    pub fn epoch(&self, epoch: u64, batches: Vec<Vec<usize>>) -> impl Iterator<Item = Result<Batch>> + use<> {
        // Without capacity, `send` returns only when the trainer receives the batch. Until then, the batch counts as
        // one of those in preparation.
        let (ready, incoming) = bounded(0);
        let count = batches.len();
        let (collate, workers, ahead) = (self.collate.clone(), self.workers, self.ahead);
        // Ends when all batches are sent, or when the trainer has dropped its end.
        let deliver = move || {
            let make = |i: usize| collate.batch(&batches[i], epoch);
            let mut sent = 0;
            prefetched(count, workers, ahead, &make, &mut |batch: Result<Batch>| {
                // The message of a panic does not name the trees of the batch; other errors name theirs.
                let named = batch.map_err(|e| match e.is::<Panicked>() {
                    true => e.context(format!("the batch of {}", collate.trees(&batches[sent]))),
                    false => e,
                });
                sent += 1;
                ready.send(named).is_ok()
            });
        };
        // If the thread cannot be started, `ready` is dropped, and the first call of `next` returns an error.
        drop(thread::Builder::new().name("loader".into()).spawn(deliver));
        let mut left = count;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            Some(incoming.recv().unwrap_or_else(|_| {
                left = 0;
                Err(anyhow!(
                    "the loader's thread could not be started, or exited before its last batch: reduce --workers, or \
                     end programs that use many threads"
                ))
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::{Augment, Features, Frame, batches, epoch_order};
    use canopy_data::{Cloud, CloudSource, Dataset, TreeRecord};
    use std::time::Duration;

    /// 40 clouds; record 13 cannot be read, and reading record 17 panics.
    #[derive(Debug)]
    struct Source;

    impl CloudSource for Source {
        fn cloud(&self, index: usize) -> Result<Cloud> {
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
                source: format!("file {i}"),
                ..TreeRecord::default()
            })
            .collect();
        let species = vec!["a".into()];
        let data = Dataset::new("test".into(), species, records, String::new(), Arc::new(Source));
        let augment = Augment {
            turn: true,
            jitter: 0.01,
            scale: 0.1,
            point_dropout: 0.1,
            own: None,
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
            .filter(|i| ![13, 17].contains(i))
            .collect();
        batches(&order, 3, false)
    }

    #[test]
    fn any_number_of_workers_gives_the_same_batches_in_order() {
        let expected: Vec<Batch> = good().iter().map(|b| collate().batch(b, 6).unwrap()).collect();
        for (workers, prefetch) in [(1, 1), (2, 2), (5, 1), (3, 4)] {
            let loader = Loader::new(collate(), workers, prefetch);
            for _ in 0..2 {
                let got: Vec<Batch> = loader.epoch(6, good()).map(Result::unwrap).collect();
                assert_eq!(got, expected, "{workers} workers, prefetch {prefetch}");
            }
        }
    }

    #[test]
    fn errors_and_panics_arrive_in_their_place_and_name_their_trees() {
        let (sender, receiver) = bounded(1);
        thread::spawn(move || {
            let mut batches: Vec<Vec<usize>> = (0..20).map(|i| vec![2 * i, 2 * i + 1]).collect();
            batches[3] = vec![3, 40];
            let got: Vec<_> = Loader::new(collate(), 3, 2).epoch(0, batches).collect();
            sender.send(got)
        });
        let got = receiver.recv_timeout(Duration::from_secs(60));
        let got = got.expect("the loader waits for ever");
        assert_eq!(got.len(), 20);
        for (i, batch) in got.iter().enumerate() {
            let said = batch.as_ref().map_err(|e| format!("{e:#}"));
            let (start, end) = match i {
                3 => (
                    "there is no record 40: ",
                    "the data set test has 40, counted from 0",
                ),
                6 => ("tree t13 (file 13): ", "bad luck"),
                8 => ("the batch of t16, t17: preparing batch 8 panicked: ", "seventeen"),
                _ => {
                    assert_eq!(said.unwrap().records, [2 * i, 2 * i + 1]);
                    continue;
                }
            };
            let said = said.unwrap_err();
            assert!(said.starts_with(start) && said.contains(end), "{said}");
        }
    }

    #[test]
    fn an_interrupted_epoch_leaves_the_next_one_complete() {
        let loader = Loader::new(collate(), 4, 3);
        for taken in [0, 1, 5] {
            // Dropping the rest ends its threads.
            assert_eq!(loader.epoch(0, good()).take(taken).count(), taken);
            let got: Vec<usize> = loader.epoch(1, good()).flat_map(|b| b.unwrap().records).collect();
            assert_eq!(got, good().concat());
        }
    }
}

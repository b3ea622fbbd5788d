//! Gradients averaged over the ranks while the backward walk goes on (Li et al. 2020, "PyTorch Distributed", section 3.2).
//!
//! A bucket whose last gradient is there goes to the rank's communication thread, and the walk goes on to the layers
//! before. Buckets are sent in their order, which is the same on every rank, whatever the order of the gradients.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};

use super::{Bucket, Collective, Traffic, board::wait_awake};

/// What a step's sums over the ranks were like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reduced {
    /// Of this rank's gradients.
    pub traffic: Traffic,
    /// Time that the all-reduces took, waiting for other ranks included.
    pub communicating: Duration,
    /// Of that, what lay after the backward walk's end: the rest was hidden behind it.
    pub waited: Duration,
}

struct Done {
    bucket: usize,
    sums: Result<Vec<f32>>,
    took: Duration,
    traffic: Traffic,
}

/// One rank's buckets, and the thread that sends them.
pub struct Reducer {
    buckets: Vec<Bucket>,
    /// Of each parameter: its bucket, and where it begins there.
    places: Vec<(usize, usize)>,
    sizes: Vec<usize>,
    world_size: usize,
    filled: Vec<Vec<f32>>,
    missing: Vec<usize>,
    next: usize,
    jobs: Option<Sender<(usize, Vec<f32>)>>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<()>>,
    patience: Duration,
    traffic: Traffic,
}

impl Reducer {
    /// For parameters of `sizes` numbers each, in `buckets`, which hold each once; `collective` is for the buckets alone,
    /// so that no other message comes between. An all-reduce must come back within `patience`.
    ///
    /// # Errors
    /// Buckets that leave a parameter out, or hold one twice or one that there is not; the system's, where it grants no
    /// thread.
    pub fn new(
        collective: Box<dyn Collective>,
        sizes: Vec<usize>,
        buckets: Vec<Bucket>,
        patience: Duration,
    ) -> Result<Self> {
        let mut places = vec![None; sizes.len()];
        for (b, bucket) in buckets.iter().enumerate() {
            let mut at = 0;
            for &p in &bucket.params {
                ensure!(
                    p < sizes.len(),
                    "bucket {b} holds parameter {p}, and there are {}",
                    sizes.len()
                );
                ensure!(
                    places[p].is_none(),
                    "parameter {p} is in two buckets, or twice in one"
                );
                places[p] = Some((b, at));
                at += sizes[p];
            }
        }
        let place =
            |(p, place): (usize, Option<_>)| place.ok_or_else(|| anyhow!("parameter {p} is in no bucket"));
        let places = places.into_iter().enumerate().map(place).collect::<Result<_>>()?;
        let world_size = collective.world_size();
        let (jobs, todo) = channel();
        let (finished, done) = channel();
        let name = format!("rank-{}-sends", collective.rank());
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || send_all(&*collective, &todo, &finished))?;
        let mut this = Self {
            buckets,
            places,
            sizes,
            world_size,
            filled: Vec::new(),
            missing: Vec::new(),
            next: 0,
            jobs: Some(jobs),
            done,
            thread: Some(thread),
            patience,
            traffic: Traffic::default(),
        };
        this.reset();
        Ok(this)
    }

    /// Numbers of a bucket.
    fn length(&self, bucket: usize) -> usize {
        self.buckets[bucket].params.iter().map(|&p| self.sizes[p]).sum()
    }

    fn reset(&mut self) {
        self.filled = (0..self.buckets.len())
            .map(|b| vec![0.0; self.length(b)])
            .collect();
        self.missing = self.buckets.iter().map(|b| b.params.len()).collect();
        self.next = 0;
    }

    /// Parameter `index`'s gradient is complete. Sends what can be sent; does not wait.
    ///
    /// # Errors
    /// A gradient of another size, or given twice; a communication thread that has ended.
    pub fn ready(&mut self, index: usize, gradient: &[f32]) -> Result<()> {
        let (bucket, at) = self.places[index];
        ensure!(
            gradient.len() == self.sizes[index] && self.missing[bucket] > 0,
            "parameter {index}: {} numbers, expected {} of each parameter once a step",
            gradient.len(),
            self.sizes[index]
        );
        self.filled[bucket][at..at + gradient.len()].copy_from_slice(gradient);
        self.missing[bucket] -= 1;
        self.send()
    }

    fn send(&mut self) -> Result<()> {
        while self.missing.get(self.next) == Some(&0) {
            let data = std::mem::take(&mut self.filled[self.next]);
            // A thread that has ended left its error behind, and `finish` will find it.
            if let Some(jobs) = &self.jobs {
                let _ = jobs.send((self.next, data));
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Waits for all buckets, and gives the means over the ranks, parameter by parameter. A parameter that was not
    /// [`Self::ready`] counts as zeros, as on every rank.
    ///
    /// # Errors
    /// Another rank ended or did not come in time.
    pub fn finish(&mut self) -> Result<(Vec<Vec<f32>>, Reduced)> {
        self.missing.iter_mut().for_each(|missing| *missing = 0);
        self.send()?;
        let began = Instant::now();
        let mut sums = vec![Vec::new(); self.buckets.len()];
        let mut reduced = Reduced::default();
        for _ in 0..self.buckets.len() {
            let done = wait_awake(self.patience, |limit| match self.done.recv_timeout(limit) {
                Err(RecvTimeoutError::Timeout) => None,
                other => Some(other.ok()),
            });
            let done = done.flatten().ok_or_else(|| {
                let seconds = self.patience.as_secs_f64();
                anyhow!("the all-reduce of a bucket did not come back within {seconds:.1} s")
            })?;
            sums[done.bucket] = done.sums?;
            reduced.communicating += done.took;
            reduced.traffic = done.traffic;
        }
        reduced.waited = began.elapsed();
        let before = std::mem::replace(&mut self.traffic, reduced.traffic);
        reduced.traffic.messages -= before.messages;
        reduced.traffic.bytes -= before.bytes;
        self.reset();
        let share = 1.0 / self.world_size as f32;
        let of = |(&(bucket, at), &size): (&(usize, usize), &usize)| {
            sums[bucket][at..at + size].iter().map(|v| v * share).collect()
        };
        Ok((self.places.iter().zip(&self.sizes).map(of).collect(), reduced))
    }
}

impl Drop for Reducer {
    /// Does not wait for the thread where it may wait for another rank: it ends at its deadline.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take().filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }
}

fn send_all(collective: &dyn Collective, todo: &Receiver<(usize, Vec<f32>)>, finished: &Sender<Done>) {
    for (bucket, mut data) in todo {
        collective.doing(&format!("sending bucket {bucket} of gradients"));
        let began = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| collective.all_reduce(&mut data)))
            .unwrap_or_else(|panic| Err(anyhow!("the all-reduce panicked: {}", panic_message(&*panic))));
        let failed = result.is_err();
        let done = Done {
            bucket,
            sums: result.map(|()| data),
            took: began.elapsed(),
            traffic: collective.traffic(),
        };
        if finished.send(done).is_err() || failed {
            return;
        }
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}

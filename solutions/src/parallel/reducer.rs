//! Reduces gradients over the ranks during the backward pass (Li et al. 2020, "PyTorch Distributed", section 3.2).
//!
//! When all gradients of a bucket are complete, the bucket goes to the rank's communication thread, while the backward pass
//! continues. Buckets are sent in the same order on every rank, whatever the order of the gradients.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};

use super::{Bucket, Collective, Traffic, board::wait_awake};

/// Cost of averaging the gradients of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reduced {
    /// Messages that this rank sent.
    pub traffic: Traffic,
    /// Time of the all-reduces, including the time spent waiting for other ranks.
    pub communicating: Duration,
    /// The part of it after the end of the backward pass; the rest was hidden behind the backward pass.
    pub waited: Duration,
}

/// How a bucket is reduced: from this rank's gradients to the mean over the ranks, or to this rank's part of it.
pub type ReduceBucket = Arc<dyn Fn(&dyn Collective, Vec<f32>) -> Result<Vec<f32>> + Send + Sync>;

/// Replaces `gradients` by their mean over the ranks, with one all-reduce.
///
/// # Errors
/// Those of the all-reduce.
pub fn mean_over_ranks(collective: &dyn Collective, mut gradients: Vec<f32>) -> Result<Vec<f32>> {
    collective.all_reduce_vec(&mut gradients)?;
    let share = 1.0 / collective.world_size() as f32;
    gradients.iter_mut().for_each(|v| *v *= share);
    Ok(gradients)
}

struct Done {
    bucket: usize,
    means: Result<Vec<f32>>,
    took: Duration,
    traffic: Traffic,
}

/// One rank's gradient buckets, and the thread that reduces them.
pub struct Reducer {
    buckets: Vec<Bucket>,
    /// The bucket of each parameter, and its offset there.
    positions: Vec<(usize, usize)>,
    sizes: Vec<usize>,
    /// The buckets that are not sent yet; empty before the first gradient arrives.
    filled: Vec<Vec<f32>>,
    missing: Vec<usize>,
    next: usize,
    jobs: Option<Sender<(usize, Vec<f32>)>>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<()>>,
    timeout: Duration,
    traffic: Traffic,
}

impl Reducer {
    /// Creates a reducer for parameters with `sizes` numbers each, distributed over `buckets`, each reduced by `reduce`.
    /// `collective` is used for the buckets only, so that no other message comes between them. The reduction of a bucket must
    /// end within `timeout`.
    ///
    /// # Errors
    /// Returns an error unless the buckets hold each parameter exactly once, or if the thread cannot be started.
    pub fn new(
        collective: Box<dyn Collective>,
        sizes: Vec<usize>,
        buckets: Vec<Bucket>,
        reduce: ReduceBucket,
        timeout: Duration,
    ) -> Result<Self> {
        let mut positions = vec![None; sizes.len()];
        for (b, bucket) in buckets.iter().enumerate() {
            let mut at = 0;
            for &p in &bucket.params {
                ensure!(
                    p < sizes.len(),
                    "bucket {b} holds parameter {p}, but there are only {} parameters",
                    sizes.len()
                );
                ensure!(
                    positions[p].is_none(),
                    "parameter {p} is in two buckets, or twice in one"
                );
                positions[p] = Some((b, at));
                at += sizes[p];
            }
        }
        let position = |(p, position): (usize, Option<_>)| {
            position.ok_or_else(|| anyhow!("parameter {p} is in no bucket"))
        };
        let positions = positions
            .into_iter()
            .enumerate()
            .map(position)
            .collect::<Result<_>>()?;
        let (jobs, todo) = channel();
        let (finished, done) = channel();
        let name = format!("rank-{}-sends", collective.rank());
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || send_all(&*collective, &reduce, &todo, &finished))?;
        let mut this = Self {
            buckets,
            positions,
            sizes,
            filled: Vec::new(),
            missing: Vec::new(),
            next: 0,
            jobs: Some(jobs),
            done,
            thread: Some(thread),
            timeout,
            traffic: Traffic::default(),
        };
        this.reset();
        Ok(this)
    }

    /// Returns how many numbers a bucket holds.
    fn length(&self, bucket: usize) -> usize {
        self.buckets[bucket].params.iter().map(|&p| self.sizes[p]).sum()
    }

    fn reset(&mut self) {
        self.filled = vec![Vec::new(); self.buckets.len()];
        self.missing = self.buckets.iter().map(|b| b.params.len()).collect();
        self.next = 0;
    }

    /// Takes the complete gradient of parameter `index`, and sends the buckets that are complete. Does not wait.
    ///
    /// # Errors
    /// Returns an error if the gradient has another size, or was passed before in this step.
    pub fn ready(&mut self, index: usize, gradient: &[f32]) -> Result<()> {
        let (bucket, at) = self.positions[index];
        ensure!(
            gradient.len() == self.sizes[index] && self.missing[bucket] > 0,
            "parameter {index}: got a gradient of {} numbers, expected one of {} numbers once per step",
            gradient.len(),
            self.sizes[index]
        );
        if self.filled[bucket].is_empty() {
            self.filled[bucket] = vec![0.0; self.length(bucket)];
        }
        self.filled[bucket][at..at + gradient.len()].copy_from_slice(gradient);
        self.missing[bucket] -= 1;
        self.send()
    }

    fn send(&mut self) -> Result<()> {
        while self.missing.get(self.next) == Some(&0) {
            let mut data = std::mem::take(&mut self.filled[self.next]);
            // Without any gradient it is still empty.
            data.resize(self.length(self.next), 0.0);
            // If the thread has exited, `finish` returns its error.
            if let Some(jobs) = &self.jobs {
                let _ = jobs.send((self.next, data));
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Waits for all buckets. Returns the mean gradient of each parameter over the ranks. The gradient of a parameter that
    /// was not passed to [`Self::ready`] counts as zeros; this must be the same on every rank.
    ///
    /// # Errors
    /// Returns an error if another rank ended or missed its deadline.
    pub fn finish(&mut self) -> Result<(Vec<Vec<f32>>, Reduced)> {
        let (means, reduced) = self.finish_buckets()?;
        let of = |(&(bucket, at), &size): (&(usize, usize), &usize)| means[bucket][at..at + size].to_vec();
        Ok((self.positions.iter().zip(&self.sizes).map(of).collect(), reduced))
    }

    /// As [`Self::finish`], but returns what each bucket was reduced to.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn finish_buckets(&mut self) -> Result<(Vec<Vec<f32>>, Reduced)> {
        self.missing.iter_mut().for_each(|missing| *missing = 0);
        self.send()?;
        let began = Instant::now();
        let mut means = vec![Vec::new(); self.buckets.len()];
        let mut reduced = Reduced::default();
        for _ in 0..self.buckets.len() {
            let done = wait_awake(self.timeout, |limit| match self.done.recv_timeout(limit) {
                Err(RecvTimeoutError::Timeout) => None,
                other => Some(other.ok()),
            });
            let done = done.flatten().ok_or_else(|| {
                let seconds = self.timeout.as_secs_f64();
                anyhow!("the all-reduce of a bucket did not finish within {seconds:.1} s")
            })?;
            means[done.bucket] = done.means?;
            reduced.communicating += done.took;
            reduced.traffic = done.traffic;
        }
        reduced.waited = began.elapsed();
        let before = std::mem::replace(&mut self.traffic, reduced.traffic);
        reduced.traffic = reduced.traffic - before;
        self.reset();
        Ok((means, reduced))
    }
}

impl Drop for Reducer {
    /// Joins the thread only if it has finished. A thread that waits for another rank ends at its deadline.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take().filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }
}

fn send_all(
    collective: &dyn Collective,
    reduce: &ReduceBucket,
    todo: &Receiver<(usize, Vec<f32>)>,
    finished: &Sender<Done>,
) {
    for (bucket, data) in todo {
        collective.doing(&format!("sending bucket {bucket} of gradients"));
        let began = Instant::now();
        let means = catch_unwind(AssertUnwindSafe(|| reduce(collective, data)))
            .unwrap_or_else(|panic| Err(anyhow!("the all-reduce panicked: {}", panic_message(&*panic))));
        let failed = means.is_err();
        let done = Done {
            bucket,
            means,
            took: began.elapsed(),
            traffic: collective.traffic(),
        };
        if finished.send(done).is_err() || failed {
            return;
        }
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}

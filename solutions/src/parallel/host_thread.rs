//! The thread of a rank that reduces buckets of gradients on the host.

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

use anyhow::{Result, anyhow};
use candle_core::{Device, Tensor};

use super::{Collective, Traffic, board::wait_awake};

/// How a bucket is reduced on the host: from this rank's gradients to the mean over the ranks, or to this rank's part of it.
pub type ReduceBucket = Arc<dyn Fn(&dyn Collective, Vec<f32>) -> Result<Vec<f32>> + Send + Sync>;

/// What a rank reports when it sends a bucket.
pub(super) fn activity(bucket: usize) -> String {
    format!("sending bucket {bucket} of gradients")
}

/// The thread that reduces buckets on the host.
pub(super) struct HostThread {
    jobs: Option<Sender<(usize, Vec<f32>)>>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<()>>,
    timeout: Duration,
}

struct Done {
    bucket: usize,
    reduced: Result<Vec<f32>>,
    took: Duration,
    traffic: Traffic,
}

impl HostThread {
    pub fn start(collective: Box<dyn Collective>, reduce: ReduceBucket, timeout: Duration) -> Result<Self> {
        let (jobs, todo) = channel();
        let (finished, done) = channel();
        let thread = std::thread::Builder::new()
            .name(format!("rank-{}-sends", collective.rank()))
            .spawn(move || reduce_all(&*collective, &reduce, &todo, &finished))?;
        Ok(Self {
            jobs: Some(jobs),
            done,
            thread: Some(thread),
            timeout,
        })
    }

    /// If the thread has exited, [`Self::finish`] returns its error.
    pub fn send(&self, bucket: usize, data: Vec<f32>) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send((bucket, data));
        }
    }

    /// Waits for `count` buckets. Returns them, the time of their reductions, and the traffic so far.
    pub fn finish(&self, count: usize) -> Result<(Vec<Tensor>, Duration, Traffic)> {
        let (mut buckets, mut communicating) = (vec![Vec::new(); count], Duration::ZERO);
        let mut traffic = Traffic::default();
        for _ in 0..count {
            let done = wait_awake(self.timeout, |limit| match self.done.recv_timeout(limit) {
                Err(RecvTimeoutError::Timeout) => None,
                other => Some(other.ok()),
            });
            let done = done.flatten().ok_or_else(|| {
                let seconds = self.timeout.as_secs_f64();
                anyhow!("the all-reduce of a bucket did not finish within {seconds:.1} s")
            })?;
            buckets[done.bucket] = done.reduced?;
            communicating += done.took;
            traffic = done.traffic;
        }
        let tensor = |bucket: Vec<f32>| {
            let length = bucket.len();
            Tensor::from_vec(bucket, length, &Device::Cpu)
        };
        let buckets = buckets
            .into_iter()
            .map(tensor)
            .collect::<candle_core::Result<_>>()?;
        Ok((buckets, communicating, traffic))
    }
}

impl Drop for HostThread {
    /// Joins the thread only if it has finished. A thread that waits for another rank ends at its deadline.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take().filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }
}

fn reduce_all(
    collective: &dyn Collective,
    reduce: &ReduceBucket,
    todo: &Receiver<(usize, Vec<f32>)>,
    finished: &Sender<Done>,
) {
    for (bucket, data) in todo {
        collective.doing(&activity(bucket));
        let began = Instant::now();
        let reduced = catch_unwind(AssertUnwindSafe(|| reduce(collective, data)))
            .unwrap_or_else(|panic| Err(anyhow!("the all-reduce panicked: {}", panic_message(&*panic))));
        let failed = reduced.is_err();
        let done = Done {
            bucket,
            reduced,
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

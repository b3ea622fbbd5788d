//! The thread of a rank that reduces buckets of gradients on the host.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use candle_core::{Device, Tensor};

use super::{Collective, Traffic};

/// How a bucket is reduced on the host: from this rank's gradients to the mean over the ranks, or to this rank's part of it.
pub(super) type ReduceBucket = fn(&dyn Collective, Vec<f32>) -> Result<Vec<f32>>;

/// What a rank reports when it sends a bucket.
pub(super) fn activity(bucket: usize) -> String {
    format!("sending bucket {bucket} of gradients")
}

/// The thread that reduces buckets on the host, one after another. It is not joined, because it may wait for another rank, which
/// ends at the deadline of the links.
pub(super) struct HostThread {
    jobs: Sender<(usize, Vec<f32>)>,
    done: Receiver<Done>,
}

struct Done {
    reduced: Result<Vec<f32>>,
    took: Duration,
    traffic: Traffic,
}

impl HostThread {
    pub fn start(collective: Box<dyn Collective>, reduce: ReduceBucket) -> Result<Self> {
        let (jobs, todo) = channel();
        let (finished, done) = channel();
        let named = std::thread::Builder::new().name(format!("rank-{}-sends", collective.rank()));
        named.spawn(move || {
            for (bucket, data) in todo {
                collective.doing(&activity(bucket));
                let began = Instant::now();
                let reduced = catch_unwind(AssertUnwindSafe(|| reduce(&*collective, data)));
                let reduced = reduced.unwrap_or_else(|panic| {
                    Err(anyhow!("the all-reduce panicked: {}", panic_message(&*panic)))
                });
                let failed = reduced.is_err();
                let done = Done {
                    reduced,
                    took: began.elapsed(),
                    traffic: collective.traffic(),
                };
                if finished.send(done).is_err() || failed {
                    return;
                }
            }
        })?;
        Ok(Self { jobs, done })
    }

    /// If the thread has exited, [`Self::finish`] returns its error.
    pub fn send(&self, bucket: usize, data: Vec<f32>) {
        let _ = self.jobs.send((bucket, data));
    }

    /// Waits for `count` buckets. Returns them, the time of their reductions, and the traffic so far.
    pub fn finish(&self, count: usize) -> Result<(Vec<Tensor>, Duration, Traffic)> {
        let (mut buckets, mut communicating) = (Vec::new(), Duration::ZERO);
        let mut traffic = Traffic::default();
        for _ in 0..count {
            let done = self.done.recv();
            let done = done.context("the thread that reduces buckets has exited")?;
            let reduced = done.reduced?;
            let length = reduced.len();
            buckets.push(Tensor::from_vec(reduced, length, &Device::Cpu)?);
            communicating += done.took;
            traffic = done.traffic;
        }
        Ok((buckets, communicating, traffic))
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}

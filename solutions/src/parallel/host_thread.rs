//! The thread of a rank that reduces buckets of gradients on the host.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, bail};
use candle_core::{Device, Tensor};

use super::{Collective, Traffic, threads::SLICE};

/// How a bucket is reduced on the host: from this rank's gradients to the mean over the ranks, or to this rank's part of it.
pub(super) type ReduceBucket = fn(&dyn Collective, Vec<f32>) -> Result<Vec<f32>>;

/// What a rank reports when it sends a bucket.
pub(super) fn activity(bucket: usize) -> String {
    format!("sending bucket {bucket} of gradients")
}

/// The thread that reduces buckets on the host, one after another. It is not joined, because it may wait for another rank.
pub(super) struct HostThread {
    jobs: Sender<(usize, Vec<f32>)>,
    done: Receiver<Done>,
    timeout: Duration,
}

struct Done {
    reduced: Result<Vec<f32>>,
    took: Duration,
    traffic: Traffic,
}

impl HostThread {
    pub fn start(collective: Box<dyn Collective>, reduce: ReduceBucket, timeout: Duration) -> Result<Self> {
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
        Ok(Self { jobs, done, timeout })
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
            let done = self.next()?;
            let reduced = done.reduced?;
            let length = reduced.len();
            buckets.push(Tensor::from_vec(reduced, length, &Device::Cpu)?);
            communicating += done.took;
            traffic = done.traffic;
        }
        Ok((buckets, communicating, traffic))
    }

    /// Waits for a bucket, in slices: time in which this process is suspended does not count.
    fn next(&self) -> Result<Done> {
        let mut waited = Duration::ZERO;
        while waited < self.timeout {
            match self.done.recv_timeout(SLICE) {
                Err(RecvTimeoutError::Timeout) => waited += SLICE,
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(done) => return Ok(done),
            }
        }
        let seconds = self.timeout.as_secs_f64();
        bail!("the all-reduce of a bucket did not finish within {seconds:.1} s")
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}

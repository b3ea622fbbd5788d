//! One communicator with its sums in flight. NCCL says nothing about a rank that never comes, so a thread of each rank watches
//! them and aborts the communicator at a deadline.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use candle_core::{Device, Tensor, cuda_backend::cudarc::driver::CudaEvent};

use super::communicator::{Communicator, Sum};
use crate::parallel::{OnTensors, Started, mpi::Shared};

/// How often the watcher looks.
const LOOK: Duration = Duration::from_millis(10);
/// For this long a sum is polled without a pause.
const EAGER: Duration = Duration::from_millis(1);
/// The pause between two polls after that.
const PAUSE: Duration = Duration::from_micros(50);

/// A sum in flight, as the watcher sees it.
struct Flying {
    numbers: usize,
    /// Which of the communicator's sums it is, from 1.
    number: u64,
    end: Arc<CudaEvent>,
}

impl Flying {
    fn name(&self) -> String {
        format!("an all-reduce of {} numbers", self.numbers)
    }
}

#[derive(Default)]
struct Queue {
    started: u64,
    flying: VecDeque<Flying>,
    /// For how long the first one is the first; time in which this process was suspended does not count.
    waited: Duration,
}

/// One communicator with its sums in flight.
pub struct Watch {
    communicator: Communicator,
    rank: usize,
    /// The signs of life, which MPI carries.
    shared: Arc<Shared>,
    /// Why NCCL has ended, on all communicators of this process.
    cause: Arc<OnceLock<String>>,
    queue: Mutex<Queue>,
    aborted: AtomicBool,
}

impl Watch {
    /// Starts the watcher. It ends with the last use of what this returns.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(
        communicator: Communicator,
        rank: usize,
        shared: Arc<Shared>,
        cause: Arc<OnceLock<String>>,
    ) -> Result<Arc<Self>> {
        let this = Arc::new(Self {
            communicator,
            rank,
            shared,
            cause,
            queue: Mutex::default(),
            aborted: AtomicBool::new(false),
        });
        let watched = Arc::downgrade(&this);
        let named = thread::Builder::new().name(format!("rank-{rank}-nccl"));
        named
            .spawn(move || look(&watched))
            .context("cannot start the thread that watches NCCL")?;
        Ok(this)
    }

    /// Where tensors are.
    pub fn device(&self) -> &Device {
        self.communicator.device()
    }

    /// Sums as the library does by itself, without a note for the watcher, to measure what the notes cost.
    pub fn sum_without_a_note(&self, tensor: &Tensor) -> Result<()> {
        let sum = self.communicator.sum(tensor, self.shared.deadline())?;
        while !self.communicator.has_reached(sum.end())? {
            self.check()?;
            thread::yield_now();
        }
        Ok(())
    }

    /// Waits until no sum is in flight, or NCCL has ended.
    pub fn finish(&self) {
        while self.check().is_ok() && !self.queue().flying.is_empty() {
            thread::sleep(LOOK);
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// Returns the cause if NCCL has ended.
    fn check(&self) -> Result<()> {
        match self.cause.get() {
            Some(cause) => bail!("{cause}"),
            None => Ok(()),
        }
    }

    fn note(&self, numbers: usize, end: Arc<CudaEvent>) {
        let mut queue = self.queue();
        queue.started += 1;
        let number = queue.started;
        if queue.flying.is_empty() {
            queue.waited = Duration::ZERO;
        }
        queue.flying.push_back(Flying { numbers, number, end });
    }

    fn abort(&self) {
        if !self.aborted.swap(true, Ordering::Relaxed) {
            self.communicator.abort();
        }
    }

    /// Looks at the sums in flight; `since` has passed after the last look. An error ends all communicators of this process.
    fn look(&self, since: Duration) {
        if let Err(cause) = self.check().and_then(|()| self.progress(since)) {
            self.cause.get_or_init(|| format!("{cause:#}"));
            self.abort();
        }
    }

    fn progress(&self, since: Duration) -> Result<()> {
        let rank = self.rank;
        let mut queue = self.queue();
        queue.waited += since;
        let mut reached = Ok(true);
        while let Some(first) = queue.flying.front() {
            reached = self.communicator.has_reached(&first.end);
            if !matches!(reached, Ok(true)) {
                break;
            }
            queue.flying.pop_front();
            queue.waited = Duration::ZERO;
        }
        // NCCL's own error says more than that of the device after it.
        if let Some(error) = self.communicator.error() {
            let operation = match queue.flying.front() {
                Some(first) => format!("{} (operation {})", first.name(), first.number),
                None => "no operation".into(),
            };
            let activity = self.shared.activity();
            bail!("rank {rank}: NCCL failed in {operation}, after: {activity}: {error}");
        }
        reached?;
        let Some(first) = queue.flying.front() else {
            return Ok(());
        };
        if let Some(why) = self.shared.waits(&first.name(), queue.waited) {
            bail!("{why}");
        }
        // The signs of life say who is missing, which may take twice the deadline.
        if queue.waited >= 3 * self.shared.deadline() {
            bail!(
                "rank {rank} has waited for other ranks for {:.1} s in {} over NCCL (operation {}), after: {}. Another rank \
                 has ended, stalled, or makes other calls: its own message says why",
                queue.waited.as_secs_f64(),
                first.name(),
                first.number,
                self.shared.activity()
            );
        }
        Ok(())
    }
}

impl Drop for Watch {
    /// Nobody waits for its sums any more.
    fn drop(&mut self) {
        self.abort();
    }
}

fn look(watched: &Weak<Watch>) {
    let mut last = Instant::now();
    loop {
        thread::sleep(LOOK);
        let Some(watch) = watched.upgrade() else {
            return;
        };
        let since = last.elapsed().min(10 * LOOK);
        last = Instant::now();
        watch.look(since);
        if watch.aborted.load(Ordering::Relaxed) {
            return;
        }
    }
}

impl OnTensors for Arc<Watch> {
    fn start_sum(&self, tensor: &Tensor) -> Result<Box<dyn Started>> {
        self.check()?;
        let numbers = tensor.elem_count();
        let sum = self.communicator.sum(tensor, self.shared.deadline());
        let sum = sum.with_context(|| {
            let rank = self.rank;
            format!("rank {rank}: an all-reduce of {numbers} numbers over NCCL does not start")
        })?;
        self.note(numbers, sum.end().clone());
        let watch = self.clone();
        Ok(Box::new(InFlight { watch, sum }))
    }
}

/// A sum that has started.
struct InFlight {
    watch: Arc<Watch>,
    sum: Sum,
}

impl Started for InFlight {
    fn finish(self: Box<Self>) -> Result<Tensor> {
        let began = Instant::now();
        loop {
            let reached = self.watch.communicator.has_reached(self.sum.end());
            // After an abort the stream continues, too, so the cause is looked at last.
            self.watch.check()?;
            if reached? {
                return self.sum.take();
            }
            if began.elapsed() < EAGER {
                thread::yield_now();
            } else {
                thread::sleep(PAUSE);
            }
        }
    }

    fn result(self: Box<Self>) -> Result<Tensor> {
        self.watch.check()?;
        self.sum.take()
    }
}

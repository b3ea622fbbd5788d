//! NCCL's operations in flight. NCCL says nothing about a rank that never comes, so a thread of each rank watches them by the
//! signs of life that MPI carries, and ends the job on all ranks at a deadline, as MPI's own operations do.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use candle_core::{Device, Tensor, cuda_backend::cudarc::driver::CudaEvent};

use super::communicator::Communicator;
use crate::parallel::{OnTensors, Started, mpi::Shared};

/// How often the thread looks.
const LOOK: Duration = Duration::from_millis(10);

/// An operation in flight.
struct Flying {
    name: String,
    /// The end of a sum, and its communicator; none while NCCL is called, which may wait for other ranks too.
    sum: Option<(Arc<Communicator>, Arc<CudaEvent>)>,
    /// How long it has been in flight since another one ended; time in which this process was suspended does not count.
    waited: Duration,
}

/// The operations in flight of this process.
pub struct Watch {
    rank: usize,
    /// The signs of life.
    shared: Arc<Shared>,
    flying: Mutex<Vec<Flying>>,
}

impl Watch {
    /// Starts the thread. It ends with the last use of what this returns.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(rank: usize, shared: Arc<Shared>) -> Result<Arc<Self>> {
        let this = Arc::new(Self {
            rank,
            shared,
            flying: Mutex::default(),
        });
        let watched = Arc::downgrade(&this);
        let named = thread::Builder::new().name(format!("rank-{rank}-nccl"));
        named
            .spawn(move || look(&watched))
            .context("cannot start the thread that watches NCCL")?;
        Ok(this)
    }

    fn flying(&self) -> MutexGuard<'_, Vec<Flying>> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, name: &str, sum: Option<(Arc<Communicator>, Arc<CudaEvent>)>) {
        self.flying().push(Flying {
            name: name.to_owned(),
            sum,
            waited: Duration::ZERO,
        });
    }

    /// Watches `call`, which calls NCCL. One thread calls it at a time.
    pub fn during<T>(&self, name: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.add(name, None);
        let result = call();
        self.flying()
            .retain(|operation| operation.sum.is_some() || operation.name != name);
        result
    }

    /// Waits until nothing is in flight.
    pub fn finish(&self) {
        while !self.flying().is_empty() {
            thread::sleep(LOOK);
        }
    }

    /// Looks at the operations in flight; `since` has passed after the last look.
    ///
    /// # Errors
    /// Returns why the job must end.
    fn look(&self, since: Duration) -> Result<()> {
        let rank = self.rank;
        let mut flying = self.flying();
        let before = flying.len();
        let mut failed = Ok(());
        flying.retain(|operation| {
            let Some((_, end)) = &operation.sum else {
                return true;
            };
            let bound = end.context().bind_to_thread();
            match bound.and_then(|()| end.try_is_complete()) {
                Ok(ended) => !ended,
                Err(error) => {
                    failed = Err(error);
                    true
                }
            }
        });
        let others_ended = flying.len() < before;
        for operation in flying.iter_mut() {
            operation.waited = match others_ended {
                true => Duration::ZERO,
                false => operation.waited + since,
            };
            // NCCL's own error says more than that of the device after it.
            let error = operation
                .sum
                .as_ref()
                .and_then(|(communicator, _)| communicator.error());
            if let Some(error) = error {
                let (name, activity) = (&operation.name, self.shared.activity());
                bail!("rank {rank}: NCCL failed in {name}, after: {activity}: {error}");
            }
        }
        failed.with_context(|| format!("rank {rank}: the GPU failed in a sum over NCCL"))?;
        let Some(longest) = flying.iter().max_by_key(|operation| operation.waited) else {
            return Ok(());
        };
        if let Some(why) = self.shared.waits(&longest.name, longest.waited) {
            bail!("{why}");
        }
        Ok(())
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
        if let Err(cause) = watch.look(since) {
            watch.shared.abort(&format!("{cause:#}"));
        }
    }
}

/// Sums over one communicator.
#[derive(Clone)]
pub struct Sums {
    pub watch: Arc<Watch>,
    pub communicator: Arc<Communicator>,
}

impl Sums {
    /// Where tensors are.
    pub fn device(&self) -> &Device {
        self.communicator.device()
    }
}

impl OnTensors for Sums {
    fn start_sum(&self, tensor: &Tensor) -> Result<Box<dyn Started>> {
        let name = format!("an all-reduce of {} numbers", tensor.elem_count());
        let sum = self.watch.during(&name, || self.communicator.sum(tensor));
        let sum =
            sum.with_context(|| format!("rank {}: {name} over NCCL does not start", self.watch.rank))?;
        self.watch
            .add(&name, Some((self.communicator.clone(), sum.end.clone())));
        Ok(Box::new(sum))
    }
}

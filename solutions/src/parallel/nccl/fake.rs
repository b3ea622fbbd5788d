//! A replacement of NCCL and of the GPU: each rank's stream is a thread, and the ranks exchange numbers through the channels
//! of [`threads`](crate::parallel::threads). As with NCCL, a message blocks the stream until it is received.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

use anyhow::{Result, ensure};
use candle_core::{DType, Device, Tensor};

use super::{
    calls::Calls,
    endpoint::Endpoint,
    watch::{Common, Watch},
};
use crate::parallel::{Algorithm, Collective, Link, Operation, Rank, threads::group};

/// What is wrong with a rank.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// Each operation takes this long.
    pub delay: Duration,
    /// NCCL reports an error in this operation, from 1.
    pub fails: Option<u64>,
    /// This operation, from 1, ends only with an abort.
    pub hangs: Option<u64>,
}

#[derive(Default)]
pub struct State {
    reached: AtomicU64,
    queued: AtomicU64,
    error: Mutex<Option<String>>,
    aborted: AtomicBool,
    pub aborts: AtomicUsize,
}

type Output = Arc<Mutex<Option<Tensor>>>;
type Job = Box<dyn FnOnce(&Channels) -> Result<()> + Send>;

/// Numbers, and the confirmations that messages were received.
pub type Channels = (Rank, Rank);

/// The channels of the ranks of a group.
pub fn channels(world_size: usize) -> Vec<Channels> {
    let group = || group(world_size, Algorithm::Ring, Duration::from_secs(20));
    group().into_iter().zip(group()).collect()
}

pub struct Fake {
    jobs: Mutex<Sender<Job>>,
    faults: Faults,
    pub state: Arc<State>,
    world_size: usize,
}

impl Fake {
    fn new(channels: Channels, faults: Faults) -> Self {
        let (jobs, todo) = channel::<Job>();
        let state = Arc::new(State::default());
        let (own, world_size) = (state.clone(), channels.0.world_size());
        thread::spawn(move || {
            for job in todo {
                // The communicator is gone after an error or an abort, and the stream continues.
                if own.error.lock().unwrap().is_none()
                    && !own.aborted.load(Ordering::SeqCst)
                    && let Err(error) = job(&channels)
                {
                    *own.error.lock().unwrap() = Some(error.to_string());
                    continue;
                }
                own.reached.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self {
            jobs: Mutex::new(jobs),
            faults,
            state,
            world_size,
        }
    }
}

/// The links of the ranks of a group, rank r with `faults(r)`. All wait for `deadline`.
pub fn endpoints(
    world_size: usize,
    deadline: Duration,
    faults: impl Fn(usize) -> Faults,
) -> Vec<(Endpoint<Fake>, Arc<State>)> {
    let of = |(rank, link)| {
        let common = Common::new(rank, Duration::from_secs(20), None);
        common.set_deadline(deadline);
        endpoint(link, faults(rank), common)
    };
    channels(world_size).into_iter().enumerate().map(of).collect()
}

pub fn endpoint(link: Channels, faults: Faults, common: Arc<Common>) -> (Endpoint<Fake>, Arc<State>) {
    let place = (link.0.rank(), link.0.world_size());
    let fake = Fake::new(link, faults);
    let state = fake.state.clone();
    (Endpoint::new(place, Watch::start(fake, common).unwrap()), state)
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    let flat = tensor.to_dtype(DType::F32).unwrap().flatten_all().unwrap();
    flat.to_vec1().unwrap()
}

/// Sends all, receives, and waits until all was received.
fn exchange(
    (data, received): &Channels,
    sends: &[(usize, Vec<f32>)],
    from: Option<usize>,
    into: &mut [f32],
) -> Result<()> {
    for (to, numbers) in sends {
        data.send(*to, numbers)?;
    }
    if let Some(from) = from {
        data.receive(from, into)?;
        received.send(from, &[])?;
    }
    for (to, _) in sends {
        received.receive(*to, &mut [])?;
    }
    Ok(())
}

type Work = Box<dyn FnOnce(&Channels) -> Result<Vec<f32>> + Send>;

/// An operation on copies of its inputs.
fn job(operation: &Operation, world_size: usize) -> (Work, DType) {
    let mut into = vec![0.0; operation.output(world_size)];
    match *operation {
        Operation::AllReduce(t) => {
            let mut data = numbers(t);
            (
                Box::new(move |r| r.0.all_reduce(&mut data).map(|()| data)),
                t.dtype(),
            )
        }
        Operation::ReduceScatter(t) => {
            let data = numbers(t);
            (
                Box::new(move |r| r.0.reduce_scatter(&data, &mut into).map(|()| into)),
                t.dtype(),
            )
        }
        Operation::AllGather(t) => {
            let data = numbers(t);
            (
                Box::new(move |r| r.0.all_gather(&data, &mut into).map(|()| into)),
                t.dtype(),
            )
        }
        Operation::Broadcast(root, t) => {
            let mut data = numbers(t);
            (
                Box::new(move |r| r.0.broadcast(root, &mut data).map(|()| data)),
                t.dtype(),
            )
        }
        Operation::Exchange { sends, receive } => {
            let sends: Vec<_> = sends.iter().map(|(to, t)| (*to, numbers(t))).collect();
            let from = receive.map(|(from, _)| from);
            (
                Box::new(move |r| exchange(r, &sends, from, &mut into).map(|()| into)),
                DType::F32,
            )
        }
    }
}

impl Calls for Fake {
    type Mark = u64;
    type Output = Output;

    fn device(&self) -> &Device {
        &Device::Cpu
    }

    fn queue(&self, operation: &Operation) -> Result<(Output, u64)> {
        let (work, dtype) = job(operation, self.world_size);
        let number = self.state.queued.fetch_add(1, Ordering::SeqCst) + 1;
        let (output, state, faults) = (Output::default(), self.state.clone(), self.faults);
        let into = output.clone();
        let job: Job = Box::new(move |channels| {
            thread::sleep(faults.delay);
            ensure!(
                faults.fails != Some(number),
                "remote process exited or there was a network error"
            );
            while faults.hangs == Some(number) && !state.aborted.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            ensure!(faults.hangs != Some(number), "the communicator was aborted");
            let data = work(channels)?;
            let length = data.len();
            *into.lock().unwrap() = Some(Tensor::from_vec(data, length, &Device::Cpu)?.to_dtype(dtype)?);
            Ok(())
        });
        self.jobs.lock().unwrap().send(job).unwrap();
        Ok((output, number))
    }

    fn has_reached(&self, mark: &u64) -> Result<bool> {
        Ok(self.state.reached.load(Ordering::SeqCst) >= *mark)
    }

    /// The CPU has no stream whose later work could wait.
    fn take(&self, output: Output) -> Result<Tensor> {
        loop {
            if let Some(tensor) = output.lock().unwrap().take() {
                return Ok(tensor);
            }
            ensure!(!self.state.aborted.load(Ordering::SeqCst), "it was aborted");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn error(&self) -> Option<String> {
        self.state.error.lock().unwrap().clone()
    }

    fn abort(&self) {
        self.state.aborted.store(true, Ordering::SeqCst);
        self.state.aborts.fetch_add(1, Ordering::SeqCst);
    }
}

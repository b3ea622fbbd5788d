//! One process's links to all others, over one communicator.

use std::{
    cell::{Cell, RefCell},
    mem::take,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor};

use super::{calls::Calls, watch::Watch};
use crate::parallel::{
    AllReduce, Collective, Link, OnTensors, Operation, Started, Traffic,
    arguments::{check_other, check_root, own_chunk},
    measure::{Seconds, over_processes},
    padded::{chunks, longest_chunk, padded},
};

/// For this long an operation is polled without a pause.
const EAGER: Duration = Duration::from_millis(1);
/// The pause between two polls after that.
const PAUSE: Duration = Duration::from_micros(50);

/// The dtypes of [`OnTensors`].
const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::BF16, DType::F16];

/// One rank of a group of processes. It counts a call as one message, with the data that was passed in: NCCL does not say what
/// its algorithms send. Numbers on the host are copied to the device and back; [`OnTensors`] does without.
pub struct Endpoint<C: Calls> {
    rank: usize,
    world_size: usize,
    watch: Arc<Watch<C>>,
    traffic: Cell<Traffic>,
    /// Messages that wait for this rank's next call. NCCL's messages block the stream until they are received, so those that
    /// cross each other must start together.
    unsent: RefCell<Vec<(usize, Tensor)>>,
    /// Messages that have started and may not have been received.
    sending: RefCell<Vec<InFlight<C>>>,
}

/// An operation that has started.
struct InFlight<C: Calls> {
    watch: Arc<Watch<C>>,
    output: C::Output,
    mark: C::Mark,
}

impl<C: Calls> InFlight<C> {
    fn wait(self) -> Result<Tensor> {
        let began = Instant::now();
        while !self.has_ended()? {
            if began.elapsed() < EAGER {
                thread::yield_now();
            } else {
                thread::sleep(PAUSE);
            }
        }
        self.watch.calls.take(self.output)
    }

    /// After an abort the stream continues, too, so the cause is looked at last.
    fn has_ended(&self) -> Result<bool> {
        let reached = self.watch.calls.has_reached(&self.mark);
        self.watch.common.check()?;
        reached
    }
}

impl<C: Calls> Started for InFlight<C> {
    fn is_done(&self) -> Result<bool> {
        self.has_ended()
    }

    fn finish(self: Box<Self>) -> Result<Tensor> {
        self.wait()
    }

    fn result(self: Box<Self>) -> Result<Tensor> {
        self.watch.common.check()?;
        self.watch.calls.take(self.output)
    }
}

impl<C: Calls> Endpoint<C> {
    /// Creates the links of rank `rank` of `world_size`.
    pub fn new((rank, world_size): (usize, usize), watch: Arc<Watch<C>>) -> Self {
        Self {
            rank,
            world_size,
            watch,
            traffic: Cell::default(),
            unsent: RefCell::default(),
            sending: RefCell::default(),
        }
    }

    fn count(&self, bytes: usize) {
        let mut all = self.traffic.get();
        all += Traffic {
            messages: 1,
            bytes: bytes as u64,
        };
        self.traffic.set(all);
    }

    fn queue(&self, operation: &Operation) -> Result<InFlight<C>> {
        self.watch.common.check()?;
        let (output, mark) = self
            .watch
            .calls
            .queue(operation)
            .with_context(|| format!("rank {}: {operation} over NCCL does not start", self.rank))?;
        self.watch.note(operation.to_string(), mark.clone());
        Ok(InFlight {
            watch: self.watch.clone(),
            output,
            mark,
        })
    }

    /// Starts an operation behind the messages that were not sent yet.
    fn begin(&self, operation: &Operation) -> Result<InFlight<C>> {
        self.flush()?;
        self.queue(operation)
    }

    fn flush(&self) -> Result<()> {
        let sends = take(&mut *self.unsent.borrow_mut());
        if sends.is_empty() {
            return Ok(());
        }
        let sent = self.queue(&Operation::Exchange {
            sends: &sends,
            receive: None,
        })?;
        let mut sending = self.sending.borrow_mut();
        sending.retain(|message| !message.has_ended().unwrap_or(true));
        sending.push(sent);
        Ok(())
    }

    /// Where tensors are.
    pub fn device(&self) -> &Device {
        self.watch.calls.device()
    }

    /// Runs an operation as the library does by itself, without a note of it, to measure what the notes cost.
    pub fn directly(&self, operation: &Operation) -> Result<()> {
        let (output, mark) = self.watch.calls.queue(operation)?;
        while !self.watch.calls.has_reached(&mark)? {
            self.watch.common.check()?;
            thread::yield_now();
        }
        self.watch.calls.take(output).map(drop)
    }

    /// As [`crate::parallel::Processes::all_reduce_seconds`]. The engine and NCCL sum a tensor on the device; the messages of
    /// ring and tree start and end on the host.
    pub fn all_reduce_seconds(&self, ring: &AllReduce, numbers: usize, repeats: usize) -> Result<Seconds> {
        let tensor = Tensor::ones(numbers, DType::F32, self.device())?;
        let operation = Operation::AllReduce(&tensor);
        let engine = |_: &mut Vec<f32>| self.start(operation)?.finish().map(drop);
        let directly = |_: &mut Vec<f32>| self.directly(&operation);
        over_processes(self, ring, (numbers, repeats), [&engine, &directly])
    }

    /// CUDA has no empty tensors, so a number stands for none.
    fn upload(&self, data: &[f32]) -> Result<Tensor> {
        let data = if data.is_empty() { &[0.0] } else { data };
        Ok(Tensor::from_slice(data, data.len(), self.device())?)
    }

    /// Runs an operation of `data`, and writes its result to the start of `into`.
    fn run(&self, data: &[f32], into: &mut [f32], operation: fn(&Tensor) -> Operation) -> Result<()> {
        let output = self.begin(&operation(&self.upload(data)?))?.wait()?;
        into.copy_from_slice(&output.to_vec1::<f32>()?[..into.len()]);
        Ok(())
    }
}

impl<C: Calls> Drop for Endpoint<C> {
    /// Messages that wait for the next call leave now, and are received, unless the engine fails; an error shows at the
    /// receiver.
    fn drop(&mut self) {
        let _ = self.flush();
        for message in self.sending.take() {
            let _ = message.wait();
        }
    }
}

impl<C: Calls> OnTensors for Endpoint<C> {
    fn start(&self, operation: Operation) -> Result<Box<dyn Started>> {
        let tensors: Vec<&Tensor> = match &operation {
            Operation::AllReduce(t) | Operation::AllGather(t) => vec![t],
            Operation::ReduceScatter(t) => {
                ensure!(
                    t.elem_count().is_multiple_of(self.world_size),
                    "{operation} over {} ranks: their parts must have the same length",
                    self.world_size
                );
                vec![t]
            }
            Operation::Broadcast(root, t) => {
                check_root(self, *root)?;
                vec![t]
            }
            Operation::Exchange { sends, receive } => {
                let others = sends
                    .iter()
                    .map(|(to, _)| *to)
                    .chain(receive.map(|(from, _)| from));
                others
                    .into_iter()
                    .try_for_each(|other| check_other(self, other))?;
                sends.iter().map(|(_, t)| t).collect()
            }
        };
        let mut bytes = 0;
        for tensor in tensors {
            ensure!(
                tensor.is_contiguous() && DTYPES.contains(&tensor.dtype()),
                "{operation}: expected a contiguous tensor of f32, f64, bf16 or f16, got one of {:?} with strides {:?}",
                tensor.dtype(),
                tensor.stride()
            );
            bytes += tensor.elem_count() * tensor.dtype().size_in_bytes();
        }
        self.count(bytes);
        Ok(Box::new(self.begin(&operation)?))
    }
}

impl<C: Calls> Link for Endpoint<C> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.world_size
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        check_other(self, to)?;
        self.watch.common.check()?;
        self.count(size_of_val(data));
        let data = self.upload(data)?;
        self.unsent.borrow_mut().push((to, data));
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        check_other(self, from)?;
        let sends = take(&mut *self.unsent.borrow_mut());
        let exchange = Operation::Exchange {
            sends: &sends,
            receive: Some((from, into.len().max(1))),
        };
        let received = self.queue(&exchange)?.wait()?;
        into.copy_from_slice(&received.to_vec1::<f32>()?[..into.len()]);
        Ok(())
    }
}

impl<C: Calls> Collective for Endpoint<C> {
    /// NCCL computes each sum once and copies it, so all ranks have the same bits.
    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        self.count(size_of_val(data));
        let own = data.to_vec();
        self.run(&own, data, |t| Operation::AllReduce(t))
    }

    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        own_chunk(self, data.len(), mine)?;
        self.count(size_of_val(data));
        let padded = padded(data, self.world_size);
        self.run(&padded, mine, |t| Operation::ReduceScatter(t))
    }

    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
        own_chunk(self, whole.len(), mine)?;
        self.count(size_of_val(mine));
        let longest = longest_chunk(whole.len(), self.world_size);
        let mut padded = mine.to_vec();
        padded.resize(longest, 0.0);
        let mut all = vec![0.0; longest * self.world_size];
        self.run(&padded, &mut all, |t| Operation::AllGather(t))?;
        let chunks = chunks(whole.len(), self.world_size);
        for (from, range) in all.chunks_exact(longest).zip(chunks) {
            let length = range.len();
            whole[range].copy_from_slice(&from[..length]);
        }
        Ok(())
    }

    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
        check_root(self, root)?;
        self.count(if root == self.rank { size_of_val(data) } else { 0 });
        let own = self.upload(data)?;
        let output = self.begin(&Operation::Broadcast(root, &own))?.wait()?;
        data.copy_from_slice(&output.to_vec1::<f32>()?[..data.len()]);
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        self.count(0);
        let one = self.upload(&[0.0])?;
        self.begin(&Operation::AllReduce(&one))?.wait().map(drop)
    }

    fn traffic(&self) -> Traffic {
        self.traffic.get()
    }

    fn doing(&self, what: &str) {
        self.watch.common.works(what);
    }

    fn on_tensors(&self) -> Option<&dyn OnTensors> {
        Some(self)
    }
}

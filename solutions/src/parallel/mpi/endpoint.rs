//! One process's links to all others.

use std::{
    cell::{Cell, RefCell},
    mem::{ManuallyDrop, forget},
    ops::Range,
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use candle_core::Tensor;
use ferrompi::{Communicator, ReduceOp, Request};

use super::{
    super::{
        Collective, Link, OnTensors, Started, Traffic,
        arguments::{check_other, check_root, own_chunk},
        chunk,
    },
    shared::Shared,
};

/// One rank of a group of processes. It counts a call as one message, with the data that was passed in: MPI does not say
/// what its algorithms send.
pub struct Endpoint {
    rank: usize,
    world_size: usize,
    /// Never freed, because freeing a communicator may wait for other ranks; `MPI_Finalize` frees it.
    comm: ManuallyDrop<Communicator>,
    shared: Arc<Shared>,
    traffic: Cell<Traffic>,
    /// The input of an all-reduce, which differs from its output, because ferrompi has none in place that does not wait. Kept, so
    /// that it is not allocated anew in each step.
    input: RefCell<Vec<f32>>,
    /// Messages that have not left yet.
    sending: RefCell<Vec<(Request, Vec<f32>)>>,
    /// The engine that sums tensors on their device.
    tensors: Option<Box<dyn OnTensors>>,
}

impl Endpoint {
    pub fn new(comm: Communicator, shared: Arc<Shared>, tensors: Option<Box<dyn OnTensors>>) -> Self {
        Self {
            rank: comm.rank() as usize,
            world_size: comm.size() as usize,
            comm: ManuallyDrop::new(comm),
            shared,
            traffic: Cell::default(),
            input: RefCell::default(),
            sending: RefCell::default(),
            tensors,
        }
    }

    /// The chunks of all ranks, in the order of the ranks.
    fn chunks(&self, length: usize) -> impl Iterator<Item = Range<usize>> {
        (0..self.world_size).map(move |rank| chunk(length, rank, self.world_size))
    }

    fn count(&self, numbers: usize) {
        self.traffic.update(|sent| sent.and_message(numbers));
    }
}

impl Drop for Endpoint {
    /// A message of a job that failed may never leave; dropping its request would wait for it.
    fn drop(&mut self) {
        forget(self.sending.take());
    }
}

impl Link for Endpoint {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.world_size
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        check_other(self, to)?;
        self.count(data.len());
        let data = data.to_vec();
        let mut sending = self.sending.borrow_mut();
        let request = self.shared.start(format_args!("a message"), || {
            // A request that fails counts as sent: the receiver notices that the message is missing.
            sending.retain_mut(|(request, _)| !request.test().unwrap_or(true));
            self.comm.isend(&data, to as i32, 0)
        });
        sending.push((request, data));
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        check_other(self, from)?;
        self.shared.complete(format_args!("waiting for rank {from}"), || {
            self.comm.irecv(into, from as i32, 0)
        });
        Ok(())
    }
}

impl Collective for Endpoint {
    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        let mut own = self.input.borrow_mut();
        own.clear();
        own.extend_from_slice(data);
        self.count(own.len());
        let activity = format_args!("in an all-reduce of {} numbers", own.len());
        // MPI requires that all ranks receive identical results (MPI 3.1, section 5.9.6).
        self.shared
            .complete(activity, || self.comm.iallreduce(&own, data, ReduceOp::Sum));
        Ok(())
    }

    /// MPI's chunks all have the same length, so shorter ones are filled with zeros.
    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        own_chunk(self, data.len(), mine)?;
        self.count(data.len());
        let longest = data.len().div_ceil(self.world_size).max(1);
        let mut padded = vec![0.0; longest * self.world_size];
        for (into, range) in padded.chunks_exact_mut(longest).zip(self.chunks(data.len())) {
            into[..range.len()].copy_from_slice(&data[range]);
        }
        let mut sums = vec![0.0; longest];
        self.shared.complete(format_args!("in a reduce-scatter"), || {
            self.comm.ireduce_scatter_block(&padded, &mut sums, ReduceOp::Sum)
        });
        mine.copy_from_slice(&sums[..mine.len()]);
        Ok(())
    }

    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
        own_chunk(self, whole.len(), mine)?;
        self.count(mine.len());
        ensure!(
            i32::try_from(whole.len()).is_ok(),
            "all-gather: MPI takes at most {} numbers, not {}",
            i32::MAX,
            whole.len()
        );
        let chunks = self.chunks(whole.len());
        let (starts, lengths): (Vec<_>, Vec<_>) = chunks.map(|c| (c.start as i32, c.len() as i32)).unzip();
        self.shared.complete(format_args!("in an all-gather"), || {
            self.comm.iallgatherv(mine, whole, &lengths, &starts)
        });
        Ok(())
    }

    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
        check_root(self, root)?;
        self.count(if root == self.rank { data.len() } else { 0 });
        self.shared.complete(format_args!("in a broadcast"), || {
            self.comm.ibroadcast(data, root as i32)
        });
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        self.count(0);
        self.shared
            .complete(format_args!("at a barrier"), || self.comm.ibarrier());
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        self.traffic.get()
    }

    fn doing(&self, what: &str) {
        self.shared.works(what);
    }

    fn on_tensors(&self) -> Option<&dyn OnTensors> {
        self.tensors.is_some().then_some(self)
    }
}

impl OnTensors for Endpoint {
    fn start_sum(&self, tensor: &Tensor) -> Result<Box<dyn Started>> {
        let engine = self.tensors.as_ref().context("these links do not sum tensors")?;
        self.count(tensor.elem_count() * tensor.dtype().size_in_bytes() / size_of::<f32>());
        engine.start_sum(tensor)
    }
}

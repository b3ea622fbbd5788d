//! One process's links to all others.

use std::{
    cell::{Cell, RefCell},
    mem::{ManuallyDrop, forget},
    ops::Range,
    sync::Arc,
};

use anyhow::{Result, ensure};
use ferrompi::{Communicator, ReduceOp, Request};

use super::{
    super::{Collective, Link, Traffic, chunk},
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
    /// A copy of what an all-reduce sums, kept so that no step allocates it anew.
    copy: RefCell<Vec<f32>>,
    /// Messages that have not left yet.
    sending: RefCell<Vec<(Request, Vec<f32>)>>,
}

impl Endpoint {
    pub fn new(comm: Communicator, shared: Arc<Shared>) -> Self {
        Self {
            rank: comm.rank() as usize,
            world_size: comm.size() as usize,
            comm: ManuallyDrop::new(comm),
            shared,
            traffic: Cell::default(),
            copy: RefCell::default(),
            sending: RefCell::default(),
        }
    }

    fn count(&self, numbers: usize) {
        self.traffic.update(|sent| sent.and_message(numbers));
    }

    /// Checks that `other` is another rank of the group.
    fn check(&self, other: usize) -> Result<()> {
        ensure!(
            other < self.world_size && other != self.rank,
            "rank {} of {} has no link to rank {other}",
            self.rank,
            self.world_size
        );
        Ok(())
    }

    /// Checks that `part` is as long as this rank's [`chunk`] of `whole`.
    fn check_chunk(&self, whole: &[f32], part: &[f32]) -> Result<()> {
        let own = chunk(whole.len(), self.rank, self.world_size);
        ensure!(
            part.len() == own.len(),
            "rank {}'s chunk of {} numbers has {}, but the slice that was passed has {}",
            self.rank,
            whole.len(),
            own.len(),
            part.len()
        );
        Ok(())
    }

    fn chunks(&self, length: usize) -> impl Iterator<Item = Range<usize>> {
        (0..self.world_size).map(move |rank| chunk(length, rank, self.world_size))
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
        self.check(to)?;
        self.count(data.len());
        let data = data.to_vec();
        let mut sending = self.sending.borrow_mut();
        let request = self.shared.start("a message", || {
            // A request that fails counts as sent: the receiver notices that the message is missing.
            sending.retain_mut(|(request, _)| !request.test().unwrap_or(true));
            self.comm.isend(&data, to as i32, 0)
        });
        sending.push((request, data));
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        self.check(from)?;
        let activity = format!("waiting for rank {from}");
        self.shared
            .complete(&activity, || self.comm.irecv(into, from as i32, 0));
        Ok(())
    }
}

impl Collective for Endpoint {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.world_size
    }

    /// MPI requires that all ranks receive identical results (MPI 3.1, section 5.9.6).
    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        self.count(data.len());
        let mut copy = self.copy.borrow_mut();
        copy.clear();
        copy.extend_from_slice(data);
        let activity = format!("in an all-reduce of {} numbers", data.len());
        self.shared
            .complete(&activity, || self.comm.iallreduce(&copy, data, ReduceOp::Sum));
        Ok(())
    }

    /// MPI's chunks all have the same length, so shorter ones are filled with zeros.
    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        self.check_chunk(data, mine)?;
        self.count(data.len());
        let longest = data.len().div_ceil(self.world_size);
        let mut padded = vec![0.0; longest * self.world_size];
        for (into, range) in padded
            .chunks_exact_mut(longest.max(1))
            .zip(self.chunks(data.len()))
        {
            into[..range.len()].copy_from_slice(&data[range]);
        }
        let mut sums = vec![0.0; longest];
        self.shared.complete("in a reduce-scatter", || {
            self.comm.ireduce_scatter_block(&padded, &mut sums, ReduceOp::Sum)
        });
        mine.copy_from_slice(&sums[..mine.len()]);
        Ok(())
    }

    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
        self.check_chunk(whole, mine)?;
        self.count(mine.len());
        ensure!(
            i32::try_from(whole.len()).is_ok(),
            "all-gather: MPI takes at most {} numbers, not {}",
            i32::MAX,
            whole.len()
        );
        let lengths: Vec<i32> = self.chunks(whole.len()).map(|c| c.len() as i32).collect();
        let starts: Vec<i32> = self.chunks(whole.len()).map(|c| c.start as i32).collect();
        self.shared.complete("in an all-gather", || {
            self.comm.iallgatherv(mine, whole, &lengths, &starts)
        });
        Ok(())
    }

    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
        ensure!(
            root < self.world_size,
            "broadcast: the root is rank {root}, but there are only {} ranks",
            self.world_size
        );
        self.count(if root == self.rank { data.len() } else { 0 });
        self.shared
            .complete("in a broadcast", || self.comm.ibroadcast(data, root as i32));
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        self.count(0);
        self.shared.complete("at a barrier", || self.comm.ibarrier());
        Ok(())
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        Link::send(self, to, data)
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        Link::receive(self, from, into)
    }

    fn traffic(&self) -> Traffic {
        self.traffic.get()
    }

    fn doing(&self, what: &str) {
        self.shared.works(what);
    }
}

//! One rank of a group of threads: collectives, deadlines and counted traffic over channels.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::{
    AllReduce, Collective, Link, Lost, Traffic,
    board::{Board, wait_awake},
    chunk, ring_all_gather, ring_reduce_scatter, tree_all_reduce, tree_broadcast,
};

/// One rank's end of a group.
pub struct Rank {
    rank: usize,
    world_size: usize,
    channels: Channels,
    deadline: Duration,
    all_reduce: AllReduce,
    traffic: Cell<Traffic>,
}

/// One rank's channels to and from each rank; the board is shared by all.
pub(super) struct Channels {
    pub to: Vec<Sender<Vec<f32>>>,
    pub from: Vec<Receiver<Vec<f32>>>,
    pub board: Board,
}

impl Rank {
    /// Rank `rank` of `world_size`. Waiting for another rank ends with an error, a [`Lost`], if that rank gave no sign of
    /// life for `deadline`: it neither called a collective nor said what it does.
    pub(super) fn new(
        (rank, world_size): (usize, usize),
        channels: Channels,
        all_reduce: AllReduce,
        deadline: Duration,
    ) -> Self {
        Self {
            rank,
            world_size,
            channels,
            deadline,
            all_reduce,
            traffic: Cell::default(),
        }
    }

    fn said(&self, rank: usize) -> (String, Instant) {
        self.channels.board.said(rank)
    }

    fn say(&self, what: &str) {
        self.channels.board.say(self.rank, what);
    }

    /// The error that nothing comes from `rank` any more, and why.
    fn lost(&self, rank: usize, silent: Option<Duration>) -> anyhow::Error {
        let doing = self.said(rank).0;
        let lost = Lost {
            by: self.rank,
            rank,
            doing,
            silent,
        };
        lost.into()
    }

    /// Says `what` while `call` runs, then again what was said before.
    fn during<T>(&self, what: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = self.said(self.rank).0;
        self.say(&format!("{what}, after: {before}"));
        let result = call()?;
        self.say(&before);
        Ok(result)
    }

    fn check(&self, other: usize) -> Result<()> {
        ensure!(
            other < self.world_size && other != self.rank,
            "rank {} of {} has no link to rank {other}",
            self.rank,
            self.world_size
        );
        Ok(())
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let end = if std::thread::panicking() {
            "panicked"
        } else {
            "ended"
        };
        self.say(&format!("{end}, after: {}", self.said(self.rank).0));
    }
}

impl Link for Rank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.world_size
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        self.check(to)?;
        if self.channels.to[to].send(data.to_vec()).is_err() {
            return Err(self.lost(to, None));
        }
        let Traffic { messages, bytes } = self.traffic.get();
        self.traffic.set(Traffic {
            messages: messages + 1,
            bytes: bytes + size_of_val(data) as u64,
        });
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        self.check(from)?;
        let received = loop {
            let sign = self.said(from).1;
            let found = wait_awake(self.deadline, |limit| {
                match self.channels.from[from].recv_timeout(limit) {
                    Err(RecvTimeoutError::Timeout) => (self.said(from).1 > sign).then_some(None),
                    other => Some(Some(other)),
                }
            });
            match found {
                Some(Some(received)) => break received,
                // A sign of life since then gives it more time.
                Some(None) => {}
                None => break Err(RecvTimeoutError::Timeout),
            }
        };
        match received {
            Ok(data) => {
                ensure!(
                    data.len() == into.len(),
                    "rank {} expected {} numbers from rank {from} and received {}: the ranks do not make the same calls",
                    self.rank,
                    into.len(),
                    data.len()
                );
                into.copy_from_slice(&data);
                Ok(())
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.lost(from, None)),
            Err(RecvTimeoutError::Timeout) => Err(self.lost(from, Some(self.said(from).1.elapsed()))),
        }
    }
}

impl Collective for Rank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.world_size
    }

    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        let what = format!("in an all-reduce of {} numbers", data.len());
        self.during(&what, || (self.all_reduce)(self, data))
    }

    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        let own = chunk(data.len(), self.rank, self.world_size);
        ensure!(
            mine.len() == own.len(),
            "reduce-scatter: rank {}'s share of {} numbers is {}, the output holds {}",
            self.rank,
            data.len(),
            own.len(),
            mine.len()
        );
        let mut sums = data.to_vec();
        self.during("in a reduce-scatter", || ring_reduce_scatter(self, &mut sums))?;
        mine.copy_from_slice(&sums[own]);
        Ok(())
    }

    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
        let own = chunk(whole.len(), self.rank, self.world_size);
        ensure!(
            mine.len() == own.len(),
            "all-gather: rank {}'s share of {} numbers is {}, the input holds {}",
            self.rank,
            whole.len(),
            own.len(),
            mine.len()
        );
        whole[own].copy_from_slice(mine);
        self.during("in an all-gather", || ring_all_gather(self, whole))
    }

    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
        ensure!(
            root < self.world_size,
            "broadcast: there is no rank {root}, only {} ranks",
            self.world_size
        );
        self.during("in a broadcast", || tree_broadcast(self, root, data))
    }

    fn barrier(&self) -> Result<()> {
        self.during("at a barrier", || tree_all_reduce(self, &mut []))
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        Link::send(self, to, data)
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        self.during(&format!("waiting for rank {from}"), || {
            Link::receive(self, from, into)
        })
    }

    fn traffic(&self) -> Traffic {
        self.traffic.get()
    }

    fn doing(&self, what: &str) {
        self.say(what);
    }
}

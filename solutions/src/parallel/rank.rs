//! One rank of a group of threads: collectives over channels, with deadlines and traffic counters.

use std::{cell::Cell, time::Duration};

use anyhow::{Result, ensure};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::{
    AllReduce, Collective, Link, Lost, Traffic,
    arguments::{check_other, check_root, own_chunk},
    board::{Board, SLICE},
    ring_all_gather, ring_reduce_scatter, tree_all_reduce, tree_broadcast,
};

/// One rank of a group of threads.
pub struct Rank {
    rank: usize,
    world_size: usize,
    channels: Channels,
    deadline: Duration,
    all_reduce: AllReduce,
    traffic: Cell<Traffic>,
}

/// One rank's channels to and from each rank, and the board that all ranks share.
pub(super) struct Channels {
    pub to: Vec<Sender<Vec<f32>>>,
    pub from: Vec<Receiver<Vec<f32>>>,
    pub board: Board,
}

impl Rank {
    /// Creates rank `rank` of `world_size`. Waiting for another rank fails with [`Lost`] if that rank has neither called a
    /// collective nor reported what it is doing for `deadline`.
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

    fn report(&self, activity: &str) {
        self.channels.board.report(self.rank, activity, None);
    }

    /// Returns the [`Lost`] error for rank `rank`.
    fn lost(&self, rank: usize, silent: Option<Duration>) -> anyhow::Error {
        let lost = Lost {
            waiting: self.rank,
            rank,
            doing: self.channels.board.activity(rank),
            silent,
        };
        lost.into()
    }

    /// Reports `activity`, and returns the previous one.
    fn begin(&self, activity: &str, waits_for: Option<usize>) -> String {
        let before = self.channels.board.activity(self.rank);
        let activity = format!("{activity}, after: {before}");
        self.channels.board.report(self.rank, &activity, waits_for);
        before
    }

    /// Reports `activity` while `call` runs, then the previous activity again.
    fn during<T>(&self, activity: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = self.begin(activity, None);
        let result = call()?;
        self.report(&before);
        Ok(result)
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let end = if std::thread::panicking() {
            "panicked"
        } else {
            "ended"
        };
        self.report(&format!(
            "{end}, after: {}",
            self.channels.board.activity(self.rank)
        ));
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
        check_other(self, to)?;
        if self.channels.to[to].send(data.to_vec()).is_err() {
            return Err(self.lost(to, None));
        }
        self.traffic.update(|sent| sent.and_message(data.len()));
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        check_other(self, from)?;
        // Reported only in a wait of more than a slice, because most messages take microseconds.
        let mut before = None;
        let (mut last_sign, mut silent) = (self.channels.board.last_sign(from), Duration::ZERO);
        let slice = SLICE.min(self.deadline);
        let received = loop {
            match self.channels.from[from].recv_timeout(slice) {
                Err(RecvTimeoutError::Timeout) => {
                    let activity = || format!("waiting for rank {from}");
                    before.get_or_insert_with(|| self.begin(&activity(), Some(from)));
                    let sign = self.channels.board.last_sign(from);
                    // With a sign of life the deadline starts again.
                    silent = if sign > last_sign {
                        Duration::ZERO
                    } else {
                        silent + slice
                    };
                    last_sign = sign;
                    if silent >= self.deadline {
                        break Err(RecvTimeoutError::Timeout);
                    }
                }
                other => break other,
            }
        };
        match received {
            Ok(data) => {
                ensure!(
                    data.len() == into.len(),
                    "rank {} expected {} numbers from rank {from} and received {}: the ranks make different calls",
                    self.rank,
                    into.len(),
                    data.len()
                );
                into.copy_from_slice(&data);
                if let Some(before) = before {
                    self.report(&before);
                }
                Ok(())
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.lost(from, None)),
            Err(RecvTimeoutError::Timeout) => Err(self.lost(from, Some(last_sign.elapsed()))),
        }
    }
}

impl Collective for Rank {
    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        let activity = format!("in an all-reduce of {} numbers", data.len());
        self.during(&activity, || (self.all_reduce)(self, data))
    }

    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        self.during("in a reduce-scatter", || {
            let own = own_chunk(self, data.len(), mine)?;
            let mut sums = data.to_vec();
            ring_reduce_scatter(self, &mut sums)?;
            mine.copy_from_slice(&sums[own]);
            Ok(())
        })
    }

    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
        self.during("in an all-gather", || {
            let own = own_chunk(self, whole.len(), mine)?;
            whole[own].copy_from_slice(mine);
            ring_all_gather(self, whole)
        })
    }

    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
        check_root(self, root)?;
        self.during("in a broadcast", || tree_broadcast(self, root, data))
    }

    fn barrier(&self) -> Result<()> {
        self.during("at a barrier", || tree_all_reduce(self, &mut []))
    }

    fn traffic(&self) -> Traffic {
        self.traffic.get()
    }

    fn doing(&self, what: &str) {
        self.report(what);
    }
}

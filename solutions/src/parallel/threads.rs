//! Ranks as threads of this process: for learning, for tests, and for the cores of one machine.

use std::{
    cell::Cell,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use super::{
    Collective, Link, Lost, Traffic, chunk, naive_all_reduce, ring_all_gather, ring_all_reduce,
    ring_reduce_scatter, tree_all_reduce, tree_broadcast,
};

/// Which algorithm all-reduce takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Around a ring.
    #[default]
    Ring,
    /// Up and down a tree.
    Tree,
    /// By way of rank 0.
    Naive,
}

/// An all-reduce of somebody's: replaces `data` by its sum over all ranks, by messages of `link`.
pub type AllReduce = Arc<dyn Fn(&dyn Link, &mut [f32]) -> Result<()> + Send + Sync>;

impl Algorithm {
    /// The algorithm as a function.
    pub fn function(self) -> AllReduce {
        match self {
            Self::Ring => Arc::new(ring_all_reduce),
            Self::Tree => Arc::new(tree_all_reduce),
            Self::Naive => Arc::new(naive_all_reduce),
        }
    }
}

/// What each rank said that it is doing, and when, for those who wait for it.
type Board = Arc<Mutex<Vec<(String, Instant)>>>;

/// One thread's end of a group.
pub struct Rank {
    rank: usize,
    to: Vec<Sender<Vec<f32>>>,
    from: Vec<Receiver<Vec<f32>>>,
    board: Board,
    deadline: Duration,
    all_reduce: AllReduce,
    traffic: Cell<Traffic>,
}

/// The ends of a group of `world_size` ranks, to be moved to a thread each. Waiting for a rank ends with an error, a
/// [`Lost`], when that rank has given no sign for `deadline`: neither called a collective nor said what it does.
pub fn group(world_size: usize, algorithm: Algorithm, deadline: Duration) -> Vec<Rank> {
    group_with(world_size, &algorithm.function(), deadline)
}

/// As [`group`], with an all-reduce of one's own.
pub fn group_with(world_size: usize, all_reduce: &AllReduce, deadline: Duration) -> Vec<Rank> {
    let board: Board = Arc::new(Mutex::new(vec![("starting".into(), Instant::now()); world_size]));
    // One channel for each pair, so that messages of different ranks cannot be mistaken for one another.
    let mut senders: Vec<Vec<Sender<Vec<f32>>>> = (0..world_size).map(|_| Vec::new()).collect();
    let mut receivers: Vec<Vec<Receiver<Vec<f32>>>> = (0..world_size).map(|_| Vec::new()).collect();
    for sends in &mut senders {
        for receives in &mut receivers {
            let (send, receive) = unbounded();
            sends.push(send);
            receives.push(receive);
        }
    }
    let ends = senders.into_iter().zip(receivers).enumerate();
    let rank = |(rank, (to, from))| Rank {
        rank,
        to,
        from,
        board: board.clone(),
        deadline,
        all_reduce: all_reduce.clone(),
        traffic: Cell::default(),
    };
    ends.map(rank).collect()
}

impl Rank {
    fn said(&self, rank: usize) -> (String, Instant) {
        let board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board[rank].clone()
    }

    fn say(&self, what: &str) {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board[self.rank] = (what.to_owned(), Instant::now());
    }

    /// That nothing comes from `rank` any more, and why.
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

    /// `what` while `call` runs, then what was said before.
    fn during<T>(&self, what: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = self.said(self.rank).0;
        self.say(&format!("{what}, after: {before}"));
        let result = call()?;
        self.say(&before);
        Ok(result)
    }

    fn check(&self, other: usize) -> Result<()> {
        ensure!(
            other < self.to.len() && other != self.rank,
            "rank {} of {} has no link to rank {other}",
            self.rank,
            self.to.len()
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
        self.to.len()
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        self.check(to)?;
        if self.to[to].send(data.to_vec()).is_err() {
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
        let began = Instant::now();
        let received = loop {
            // A sign of life since then gives it more time.
            let sign = began.max(self.said(from).1);
            let left = self.deadline.saturating_sub(sign.elapsed());
            match self.from[from].recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) if self.said(from).1 > sign => {}
                other => break other,
            }
        };
        match received {
            Ok(data) => {
                ensure!(
                    data.len() == into.len(),
                    "rank {} expected {} numbers of rank {from}, {} came: the ranks do not make the same calls",
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
        self.to.len()
    }

    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        let what = format!("in an all-reduce of {} numbers", data.len());
        self.during(&what, || (self.all_reduce)(self, data))
    }

    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        let own = chunk(data.len(), self.rank, self.to.len());
        ensure!(
            mine.len() == own.len(),
            "reduce-scatter: rank {}'s share of {} numbers is {}, room is for {}",
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
        let own = chunk(whole.len(), self.rank, self.to.len());
        ensure!(
            mine.len() == own.len(),
            "all-gather: rank {}'s share of {} numbers is {}, it gives {}",
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
            root < self.to.len(),
            "broadcast: there is no rank {root}, only {} ranks",
            self.to.len()
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

//! Ranks as threads of this process, connected by channels: for the cores of one machine, for tests and for lessons.

use std::{
    cell::Cell,
    fmt,
    panic::resume_unwind,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use super::{
    Collective, Link, Traffic,
    arguments::{check_other, check_root, own_chunk},
    ring_all_gather, ring_reduce_scatter, tree_all_reduce, tree_broadcast,
};

/// The longest single wait. If this process itself is suspended (by Ctrl-Z or a scheduler), that time counts as one slice at
/// most, so the other ranks are not taken for silent.
const SLICE: Duration = Duration::from_millis(100);

/// An all-reduce function: replaces `data` by its sum over all ranks, using messages over the link.
pub type AllReduce = Arc<dyn Fn(&dyn Link, &mut [f32]) -> Result<()> + Send + Sync>;

/// A message that did not arrive or could not be sent, because the other rank has exited or has stalled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The rank that waits.
    pub waiting: usize,
    /// The rank that it waits for.
    pub rank: usize,
    /// The last activity that the other rank reported.
    pub doing: String,
    /// How long the other rank has reported nothing although it still runs; `None` if it has exited.
    pub silent: Option<Duration>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            waiting, rank, doing, ..
        } = self;
        match self.silent {
            Some(silent) => write!(
                f,
                "rank {waiting} waits for rank {rank}, which gave no sign of life for {:.1} s; its last activity: {doing}",
                silent.as_secs_f64()
            ),
            None => write!(f, "rank {waiting} waits for rank {rank}, which {doing}"),
        }
    }
}

impl std::error::Error for Lost {}

/// Creates the `world_size` ranks of a group with this all-reduce. The caller moves each to a thread of its own. Waiting for a
/// rank that gave no sign of life for `deadline` fails with [`Lost`].
pub fn group(
    world_size: usize,
    all_reduce: impl Fn(&dyn Link, &mut [f32]) -> Result<()> + Send + Sync + 'static,
    deadline: Duration,
) -> Vec<Rank> {
    let all_reduce: AllReduce = Arc::new(all_reduce);
    let report = Report {
        activity: "starting".into(),
        at: Instant::now(),
        waits_for: None,
    };
    let reports = Arc::new(Mutex::new(vec![report; world_size]));
    // One channel for each pair of ranks, so that a receiver knows the sender.
    let channels = |_| (0..world_size).map(|_| unbounded()).collect();
    let channels: Vec<Vec<_>> = (0..world_size).map(channels).collect();
    let rank = |rank: usize| Rank {
        rank,
        to: channels[rank].iter().map(|(to, _)| to.clone()).collect(),
        from: channels.iter().map(|of| of[rank].1.clone()).collect(),
        reports: reports.clone(),
        deadline,
        all_reduce: all_reduce.clone(),
        traffic: Cell::default(),
    };
    (0..world_size).map(rank).collect()
}

/// Runs `work` on a thread for each of `ranks`, and returns the results in the order of the ranks. Panics if a rank does.
pub fn on_each<T: Send>(ranks: Vec<Rank>, work: impl Fn(Rank) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = ranks.into_iter().map(|r| scope.spawn(move || work(r))).collect();
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .map(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// One rank of a group of threads. Waiting for another rank fails with [`Lost`] if that rank has neither called a collective nor
/// reported what it is doing until the deadline.
pub struct Rank {
    rank: usize,
    to: Vec<Sender<Vec<f32>>>,
    from: Vec<Receiver<Vec<f32>>>,
    /// What each rank of the group reported last.
    reports: Arc<Mutex<Vec<Report>>>,
    deadline: Duration,
    all_reduce: AllReduce,
    traffic: Cell<Traffic>,
}

#[derive(Clone, Debug)]
struct Report {
    activity: String,
    at: Instant,
    waits_for: Option<usize>,
}

impl Rank {
    fn reports(&self) -> MutexGuard<'_, Vec<Report>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports what this rank does, and for which rank it waits. Returns its previous activity.
    fn report(&self, activity: String, waits_for: Option<usize>) -> String {
        let report = Report {
            activity,
            at: Instant::now(),
            waits_for,
        };
        std::mem::replace(&mut self.reports()[self.rank], report).activity
    }

    /// Reports `activity` in addition to the previous one, which it returns.
    fn begin(&self, activity: &str, waits_for: Option<usize>) -> String {
        let before = self.reports()[self.rank].activity.clone();
        self.report(format!("{activity}, after: {before}"), waits_for)
    }

    /// Reports `activity` while `call` runs, then the previous activity again.
    fn during<T>(&self, activity: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = self.begin(activity, None);
        let result = call()?;
        self.report(before, None);
        Ok(result)
    }

    /// Returns when rank `rank` gave its last sign of life. A rank that waits for another one lives as long as that one.
    fn last_sign(&self, rank: usize) -> Instant {
        let all = self.reports();
        let (mut last, mut waits_for) = (all[rank].at, all[rank].waits_for);
        // Ranks may wait for each other.
        for _ in 0..all.len() {
            let Some(next) = waits_for else { break };
            last = last.max(all[next].at);
            waits_for = all[next].waits_for;
        }
        last
    }

    /// Returns the [`Lost`] error for rank `rank`.
    fn lost(&self, rank: usize, silent: Option<Duration>) -> anyhow::Error {
        let lost = Lost {
            waiting: self.rank,
            rank,
            doing: self.reports()[rank].activity.clone(),
            silent,
        };
        lost.into()
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let end = match thread::panicking() {
            true => "panicked",
            false => "ended",
        };
        self.begin(end, None);
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
        check_other(self, to)?;
        if self.to[to].send(data.to_vec()).is_err() {
            return Err(self.lost(to, None));
        }
        self.traffic.update(|sent| sent.and_message(data.len()));
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        check_other(self, from)?;
        // Reported only in a wait of more than a slice, because most messages take microseconds.
        let mut before = None;
        let (mut last_sign, mut silent) = (self.last_sign(from), Duration::ZERO);
        let slice = SLICE.min(self.deadline);
        let data = loop {
            match self.from[from].recv_timeout(slice) {
                Ok(data) => break data,
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost(from, None)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            before.get_or_insert_with(|| self.begin(&format!("waiting for rank {from}"), Some(from)));
            let sign = self.last_sign(from);
            // With a sign of life the deadline starts again.
            silent = match sign > last_sign {
                true => Duration::ZERO,
                false => silent + slice,
            };
            last_sign = sign;
            if silent >= self.deadline {
                return Err(self.lost(from, Some(last_sign.elapsed())));
            }
        };
        ensure!(
            data.len() == into.len(),
            "rank {} expected {} numbers from rank {from} and received {}: the ranks make different calls",
            self.rank,
            into.len(),
            data.len()
        );
        into.copy_from_slice(&data);
        if let Some(before) = before {
            self.report(before, None);
        }
        Ok(())
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
        self.report(what.to_owned(), None);
    }

    /// Threads share the host's memory; this is for tests of what an engine on a GPU does.
    #[cfg(test)]
    fn on_tensors(&self) -> Option<&dyn super::OnTensors> {
        Some(self)
    }
}

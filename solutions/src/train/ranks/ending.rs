//! How the ranks of a run ended, and which rank caused an error.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Error, Result, anyhow};

use crate::parallel::Lost;

/// How one rank ended.
#[derive(Debug)]
enum End {
    Well,
    /// It waited in vain for another rank.
    Lost(Lost),
    /// It failed by itself.
    Failed(String),
}

/// The time in which the other ranks notice that one has failed.
const GRACE: Duration = Duration::from_secs(1);

/// What each rank is doing and how it ended, shared by all ranks.
#[derive(Clone, Debug)]
pub struct Reports(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ranks: Mutex<Ranks>,
    ended: Condvar,
}

#[derive(Debug)]
struct Ranks {
    doing: Vec<String>,
    ends: Vec<Option<End>>,
    /// Ranks that failed by themselves, in order.
    failed: Vec<usize>,
}

impl Reports {
    pub fn new(world: usize) -> Self {
        let ranks = Ranks {
            doing: vec!["starting".into(); world],
            ends: (0..world).map(|_| None).collect(),
            failed: Vec::new(),
        };
        Self(Arc::new(Shared {
            ranks: Mutex::new(ranks),
            ended: Condvar::new(),
        }))
    }

    /// Reports of one rank that is a process: it knows only its own end, and the engine ends the job if another rank fails.
    pub fn of_process(rank: usize, world: usize) -> Self {
        let reports = Self::new(world);
        for (other, end) in reports.lock().ends.iter_mut().enumerate() {
            *end = (other != rank).then_some(End::Well);
        }
        reports
    }

    fn lock(&self) -> MutexGuard<'_, Ranks> {
        self.0.ranks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records what rank `rank` is about to do.
    pub fn doing(&self, rank: usize, what: &str) {
        what.clone_into(&mut self.lock().doing[rank]);
    }

    /// Records how rank `rank` ended.
    pub fn leave<T>(&self, rank: usize, result: &Result<T>) {
        let end = match result {
            Ok(_) => End::Well,
            Err(error) => match error.chain().find_map(|e| e.downcast_ref::<Lost>()) {
                Some(lost) => End::Lost(lost.clone()),
                None => End::Failed(format!("{error:#}")),
            },
        };
        let mut ranks = self.lock();
        if matches!(end, End::Failed(_)) {
            ranks.failed.push(rank);
        }
        ranks.ends[rank] = Some(end);
        self.0.ended.notify_all();
    }

    /// Waits until all ranks have ended: at most `limit`, or a short time if one has failed.
    pub fn wait(&self, limit: Duration, failed: bool) {
        let limit = if failed { GRACE } else { limit };
        let all = |ranks: &Ranks| ranks.ends.iter().all(Option::is_some);
        self.wait_for(limit, all);
    }

    fn wait_for(&self, limit: Duration, is_so: impl Fn(&Ranks) -> bool) -> bool {
        let end = Instant::now() + limit;
        let mut ranks = self.lock();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if is_so(&ranks) || left.is_zero() {
                return is_so(&ranks);
            }
            let waited = self.0.ended.wait_timeout(ranks, left);
            ranks = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether rank `rank` ended because rank 0 gave no sign of life, and rank 0 has not ended `patience` later.
    pub fn rank_0_has_stalled(&self, rank: usize, patience: Duration) -> bool {
        let silent = matches!(&self.lock().ends[rank], Some(End::Lost(lost)) if lost.rank == 0 && lost.silent.is_some());
        silent && !self.wait_for(patience, |ranks| ranks.ends[0].is_some())
    }

    /// Which rank caused the end, and what it was doing; none if all is well, or if rank 0's own error says it.
    pub fn fault(&self) -> Option<Error> {
        let ranks = self.lock();
        let Ranks { doing, ends, failed } = &*ranks;
        if let Some(&rank) = failed.first() {
            let Some(End::Failed(text)) = &ends[rank] else {
                return None;
            };
            return (rank > 0).then(|| anyhow!("rank {rank} failed, {}: {text}", doing[rank]));
        }
        let lost: Vec<&Lost> = ends
            .iter()
            .filter_map(|end| match end {
                Some(End::Lost(lost)) => Some(lost),
                _ => None,
            })
            .collect();
        // The cause is a rank that others wait for and that waits for nobody.
        let silent = lost.iter().find(|l| ends[l.rank].is_none());
        let lost = silent.or(lost.first())?;
        Some(match lost.silent {
            Some(silent) => anyhow!(
                "rank {} gave no sign of life for {:.1} s; its last activity: {}",
                lost.rank,
                silent.as_secs_f64(),
                doing[lost.rank]
            ),
            None => anyhow!("{lost}"),
        })
    }
}

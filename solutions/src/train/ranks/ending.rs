//! How the ranks of a run end, and whose fault it was.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Error, Result, anyhow};
use serde::{Deserialize, Serialize};

use crate::parallel::{
    Lost,
    sockets::{Farewell, Witness},
};

/// How one rank ended.
#[derive(Debug, Serialize, Deserialize)]
enum End {
    Well,
    /// It waited for another in vain.
    Lost(Lost),
    /// It broke by itself.
    Failed(String),
    /// Its process ended, and said nothing.
    Died,
}

/// A time in which the others find out that one has failed.
pub const GRACE: Duration = Duration::from_secs(1);

/// What the ranks do, and how they ended: all of them write here.
#[derive(Clone, Debug)]
pub struct Reports(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ranks: Mutex<Ranks>,
    ended: Condvar,
    /// How other processes hear of the end of this one's rank.
    farewell: Mutex<Option<Farewell>>,
}

#[derive(Debug)]
struct Ranks {
    doing: Vec<String>,
    ends: Vec<Option<End>>,
    /// Ranks that broke by themselves, the first one first.
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
            farewell: Mutex::default(),
        }))
    }

    /// The ranks are processes: the others are to hear of this one's end by `farewell`.
    pub fn say_farewell_by(&self, farewell: Farewell) {
        *self.0.farewell.lock().unwrap_or_else(PoisonError::into_inner) = Some(farewell);
    }

    /// The others' reports, as they come to the process of rank `own`.
    pub fn of_others(&self, own: usize) -> OfOthers {
        OfOthers {
            own,
            reports: self.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ranks> {
        self.0.ranks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What rank `rank` is about to do.
    pub fn doing(&self, rank: usize, what: &str) {
        what.clone_into(&mut self.lock().doing[rank]);
    }

    /// Rank `rank` has ended.
    pub fn leave<T>(&self, rank: usize, result: &Result<T>) {
        let end = match result {
            Ok(_) => End::Well,
            Err(error) => match error.chain().find_map(|e| e.downcast_ref::<Lost>()) {
                Some(lost) => End::Lost(lost.clone()),
                None => End::Failed(format!("{error:#}")),
            },
        };
        let words = serde_json::to_string(&(&self.lock().doing[rank], &end)).unwrap_or_default();
        self.ended(rank, end);
        let farewell = self
            .0
            .farewell
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(farewell) = farewell {
            farewell.say(&words, GRACE);
        }
    }

    fn ended(&self, rank: usize, end: End) {
        let mut ranks = self.lock();
        if matches!(end, End::Failed(_)) {
            ranks.failed.push(rank);
        }
        ranks.ends[rank] = Some(end);
        self.0.ended.notify_all();
    }

    /// Whether rank 0 has ended and could say how.
    pub fn rank_0_has_told(&self) -> bool {
        matches!(
            &self.lock().ends[0],
            Some(End::Well | End::Lost(_) | End::Failed(_))
        )
    }

    /// Waits until all ranks have ended: for `limit`, or a short time where one has failed.
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

    /// Whether rank `rank` has ended because rank 0 gave no sign, and rank 0 has not ended `patience` later.
    pub fn rank_0_is_stuck(&self, rank: usize, patience: Duration) -> bool {
        let silent = matches!(&self.lock().ends[rank], Some(End::Lost(lost)) if lost.rank == 0 && lost.silent.is_some());
        silent && !self.wait_for(patience, |ranks| ranks.ends[0].is_some())
    }

    /// Whose fault the end was and what that rank was doing; none where all is well, or rank 0's own error says it.
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
        if let Some(rank) = ends.iter().position(|end| matches!(end, Some(End::Died))) {
            return Some(anyhow!(
                "rank {rank} died without a word (killed, or out of memory?); it was last seen {}",
                doing[rank]
            ));
        }
        // Who waits in vain for somebody who himself waits in vain is not told of.
        let silent = lost.iter().find(|l| ends[l.rank].is_none());
        let lost = silent.or(lost.first())?;
        Some(match lost.silent {
            Some(silent) => anyhow!(
                "rank {} gave no sign for {:.1} s; it was last seen {}",
                lost.rank,
                silent.as_secs_f64(),
                doing[lost.rank]
            ),
            None => anyhow!("{lost}"),
        })
    }
}

/// What comes from other processes goes into the reports of this one.
#[derive(Debug)]
pub struct OfOthers {
    own: usize,
    reports: Reports,
}

impl Witness for OfOthers {
    fn says(&self, rank: usize, what: &str) {
        self.reports.doing(rank, what);
    }

    fn ended(&self, rank: usize, words: Option<&str>) {
        // Of those who close the connections because this rank has left, nothing more is wanted to be known.
        let left = self.reports.lock().ends[self.own].is_some();
        match words.and_then(|words| serde_json::from_str::<(String, End)>(words).ok()) {
            Some((doing, end)) => {
                self.reports.doing(rank, &doing);
                self.reports.ended(rank, end);
            }
            None if !left => self.reports.ended(rank, End::Died),
            None => {}
        }
    }
}

//! How the ranks of a run ended, and which rank caused an error.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Error, Result, anyhow};

use crate::parallel::Lost;

/// How one rank ended.
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
#[derive(Clone)]
pub struct Reports(Arc<(Mutex<Ranks>, Condvar)>);

struct Ranks {
    doing: Vec<String>,
    /// The ranks that have ended, in order.
    ends: Vec<(usize, End)>,
    /// How many ranks of this process have not ended.
    running: usize,
}

impl Ranks {
    fn end(&self, rank: usize) -> Option<&End> {
        let end = self.ends.iter().find(|(ended, _)| *ended == rank);
        end.map(|(_, end)| end)
    }
}

impl Reports {
    /// Reports of `running` of `world` ranks: all of them if they are threads. One that is a process knows only its own end, and
    /// the engine ends the job if another rank fails.
    pub fn new(world: usize, running: usize) -> Self {
        let ranks = Ranks {
            doing: vec!["starting".into(); world],
            ends: Vec::new(),
            running,
        };
        Self(Arc::new((Mutex::new(ranks), Condvar::new())))
    }

    fn lock(&self) -> MutexGuard<'_, Ranks> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        ranks.ends.push((rank, end));
        ranks.running -= 1;
        self.0.1.notify_all();
    }

    /// Waits until all ranks have ended: at most `limit`, or a short time if one has failed.
    pub fn wait(&self, limit: Duration, failed: bool) {
        let limit = if failed { GRACE } else { limit };
        self.wait_for(limit, |ranks| ranks.running == 0);
    }

    fn wait_for(&self, limit: Duration, is_so: impl Fn(&Ranks) -> bool) -> bool {
        let (_, ended) = &*self.0;
        let waited = ended.wait_timeout_while(self.lock(), limit, |ranks| !is_so(ranks));
        is_so(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Whether rank `rank` ended because rank 0 gave no sign of life, and rank 0 has not ended `patience` later.
    pub fn rank_0_has_stalled(&self, rank: usize, patience: Duration) -> bool {
        let silent =
            matches!(self.lock().end(rank), Some(End::Lost(lost)) if lost.rank == 0 && lost.silent.is_some());
        silent && !self.wait_for(patience, |ranks| ranks.end(0).is_some())
    }

    /// Which rank caused the end, and what it was doing; none if all is well, or if rank 0's own error says it.
    pub fn fault(&self) -> Option<Error> {
        let ranks = self.lock();
        let mut lost = Vec::new();
        for (rank, end) in &ranks.ends {
            match end {
                End::Well => {}
                End::Lost(other) => lost.push(other),
                End::Failed(_) if *rank == 0 => return None,
                End::Failed(text) => {
                    return Some(anyhow!("rank {rank} failed, {}: {text}", ranks.doing[*rank]));
                }
            }
        }
        // The cause is a rank that others wait for and that waits for nobody.
        let silent = lost.iter().find(|lost| ranks.end(lost.rank).is_none());
        let lost = silent.or(lost.first())?;
        Some(match lost.silent {
            Some(silent) => anyhow!(
                "rank {} gave no sign of life for {:.1} s; its last activity: {}",
                lost.rank,
                silent.as_secs_f64(),
                ranks.doing[lost.rank]
            ),
            None => anyhow!("{lost}"),
        })
    }
}

//! The last reported activity of each rank of a group, and waiting with a timeout.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// What each rank of a group reported last. All ranks share one board.
#[derive(Clone, Debug)]
pub(super) struct Board(Arc<Mutex<Vec<Report>>>);

#[derive(Clone, Debug)]
struct Report {
    activity: String,
    at: Instant,
    waits_for: Option<usize>,
}

impl Board {
    /// Creates a board for `world_size` ranks, all of them "starting".
    pub fn new(world_size: usize) -> Self {
        let report = Report {
            activity: "starting".into(),
            at: Instant::now(),
            waits_for: None,
        };
        Self(Arc::new(Mutex::new(vec![report; world_size])))
    }

    fn all(&self) -> MutexGuard<'_, Vec<Report>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last activity of rank `rank`.
    pub fn activity(&self, rank: usize) -> String {
        self.all()[rank].activity.clone()
    }

    /// Returns when rank `rank` gave its last sign of life. A rank that waits for another one lives as long as that one.
    pub fn last_sign(&self, rank: usize) -> Instant {
        let all = self.all();
        let (mut last, mut waits_for) = (all[rank].at, all[rank].waits_for);
        // Ranks may wait for each other.
        for _ in 0..all.len() {
            let Some(next) = waits_for else { break };
            last = last.max(all[next].at);
            waits_for = all[next].waits_for;
        }
        last
    }

    /// Records that rank `rank` is doing `activity`, and for which rank it waits.
    pub fn report(&self, rank: usize, activity: &str, waits_for: Option<usize>) {
        self.all()[rank] = Report {
            activity: activity.to_owned(),
            at: Instant::now(),
            waits_for,
        };
    }
}

/// The longest single wait. If this process itself is suspended (by Ctrl-Z or a scheduler), that time counts as one slice at
/// most, so the other ranks are not taken for silent.
pub(super) const SLICE: Duration = Duration::from_millis(100);

/// Calls `wait` with a timeout of a [`SLICE`], again and again, until it returns a value. Returns `None` after `limit`.
pub(super) fn wait_awake<T>(limit: Duration, mut wait: impl FnMut(Duration) -> Option<T>) -> Option<T> {
    let mut waited = Duration::ZERO;
    loop {
        let slice = SLICE.min(limit.saturating_sub(waited));
        if let Some(value) = wait(slice) {
            return Some(value);
        }
        waited += slice;
        if waited >= limit {
            return None;
        }
    }
}

//! What each rank of a group is doing, for those that wait for it; and waiting with a limit.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// What each rank of a group said last that it is doing, and when.
#[derive(Clone, Debug)]
pub(super) struct Board(Arc<Mutex<Vec<(String, Instant)>>>);

impl Board {
    /// A board on which all of `world_size` ranks are starting.
    pub fn new(world_size: usize) -> Self {
        let all = vec![("starting".into(), Instant::now()); world_size];
        Self(Arc::new(Mutex::new(all)))
    }

    /// What rank `rank` said last, and when.
    pub fn said(&self, rank: usize) -> (String, Instant) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[rank].clone()
    }

    /// Rank `rank` says `what`.
    pub fn say(&self, rank: usize, what: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[rank] = (what.to_owned(), Instant::now());
    }
}

/// The longest single wait.
const SLICE: Duration = Duration::from_millis(100);

/// Calls `wait` with how long to wait until it returns something, or returns none after `limit`.
///
/// It waits in slices, so that time in which this process itself was stopped, by Ctrl-Z or a scheduler, counts as one slice
/// and not as silence of the others.
pub(super) fn wait_awake<T>(limit: Duration, mut wait: impl FnMut(Duration) -> Option<T>) -> Option<T> {
    let mut waited = Duration::ZERO;
    loop {
        let slice = SLICE.min(limit.saturating_sub(waited));
        if let Some(found) = wait(slice) {
            return Some(found);
        }
        waited += slice;
        if waited >= limit {
            return None;
        }
    }
}

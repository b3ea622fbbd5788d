//! The last reported activity of each rank of a group, and waiting with a timeout.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The activity that each rank of a group reported last, and when it reported it. All ranks share one board.
#[derive(Clone, Debug)]
pub(super) struct Board(Arc<Mutex<Vec<(String, Instant)>>>);

impl Board {
    /// Creates a board for `world_size` ranks, all of them "starting".
    pub fn new(world_size: usize) -> Self {
        let all = vec![("starting".into(), Instant::now()); world_size];
        Self(Arc::new(Mutex::new(all)))
    }

    /// Returns the last activity of rank `rank`, and when it was reported.
    pub fn activity(&self, rank: usize) -> (String, Instant) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[rank].clone()
    }

    /// Records that rank `rank` is doing `activity`.
    pub fn report(&self, rank: usize, activity: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[rank] = (activity.to_owned(), Instant::now());
    }
}

/// The longest single wait.
const SLICE: Duration = Duration::from_millis(100);

/// Calls `wait` with a timeout, again and again, until it returns a value. Returns `None` after `limit`.
///
/// It waits in slices. If this process itself is suspended (by Ctrl-Z or a scheduler), that time counts as one slice at
/// most, so the other ranks are not taken for silent.
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

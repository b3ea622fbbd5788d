//! What carries messages and signs of life between the ranks of a group.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Why no message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// None within the limit.
    Late,
    /// None will: the other rank has ended.
    Ended,
}

/// One rank's way to the others of its group. [`super::Rank`] makes collectives of it; ranks given here are others of the
/// group.
pub trait Transport: Send {
    /// Sends `data` to rank `to`, and does not wait for it to be received; false where that rank has ended.
    fn send(&self, to: usize, data: &[f32]) -> bool;

    /// The next message of rank `from`, waited for no longer than `limit`.
    ///
    /// # Errors
    /// Why there is none.
    fn receive(&self, from: usize, limit: Duration) -> Result<Vec<f32>, Missed>;

    /// What each rank said last, as far as it is known here.
    fn board(&self) -> &Board;

    /// The others should hear soon what stands on the board for this rank.
    fn tell(&self) {}
}

/// What each rank said that it is doing, and when, for those who wait for it.
#[derive(Clone, Debug)]
pub struct Board(Arc<Mutex<Vec<(String, Instant)>>>);

impl Board {
    /// A board on which all of `world_size` ranks are starting.
    pub fn new(world_size: usize) -> Self {
        let all = vec![("starting".into(), Instant::now()); world_size];
        Self(Arc::new(Mutex::new(all)))
    }

    /// What rank `rank` said last, and when that came here.
    pub fn said(&self, rank: usize) -> (String, Instant) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[rank].clone()
    }

    /// Rank `rank` says `what`.
    pub fn say(&self, rank: usize, what: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[rank] = (what.to_owned(), Instant::now());
    }
}

/// So long is waited at a time.
const SLICE: Duration = Duration::from_millis(100);

/// What `wait` gives, which is called with how long to wait, and gives nothing where that was in vain; none after `limit`.
///
/// It waits in slices, so that time in which this process was itself stopped, by Ctrl-Z or a scheduler, counts as one slice
/// and not as the silence of others.
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

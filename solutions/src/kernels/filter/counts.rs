//! What the filter did, counted over the whole process.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// Maxima that were searched: one for each column of each group of rows.
    pub maxima: u64,
    /// Rows of those that were computed in f32: all rows of the blocks that could hold the maximum.
    pub candidates: u64,
    /// Maxima of `maxima` that were found without the filter, because it does not apply.
    pub fallbacks: u64,
}

static MAXIMA: AtomicU64 = AtomicU64::new(0);
static CANDIDATES: AtomicU64 = AtomicU64::new(0);
static FALLBACKS: AtomicU64 = AtomicU64::new(0);

impl FilterCounts {
    /// Rows computed in f32 for a maximum that the filter found.
    pub fn candidates_each(&self) -> f64 {
        self.candidates as f64 / (self.maxima - self.fallbacks).max(1) as f64
    }

    /// The share of maxima found without the filter.
    pub fn fallback_share(&self) -> f64 {
        self.fallbacks as f64 / self.maxima.max(1) as f64
    }

    /// Adds to the counts of the process.
    pub(super) fn publish(&self) {
        MAXIMA.fetch_add(self.maxima, Ordering::Relaxed);
        CANDIDATES.fetch_add(self.candidates, Ordering::Relaxed);
        FALLBACKS.fetch_add(self.fallbacks, Ordering::Relaxed);
    }
}

/// What the filter did since the process started.
pub fn filter_counts() -> FilterCounts {
    FilterCounts {
        maxima: MAXIMA.load(Ordering::Relaxed),
        candidates: CANDIDATES.load(Ordering::Relaxed),
        fallbacks: FALLBACKS.load(Ordering::Relaxed),
    }
}

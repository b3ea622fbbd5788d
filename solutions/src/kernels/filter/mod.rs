//! The exact maximum of each column of a product over many rows, of which only few rows are computed in f32.
//!
//! All products are first computed from operands rounded to 8 bits. A bound on the error shows which rows may have the
//! greatest product of a column. Only those are computed again in f32, in the order of operations of
//! [`Greatest`](super::maxima::Greatest), so that value and first row are bit-identical to a search without the filter.
//!
//! A row a is rounded to steps q of 0 to 255 of its block's scale s (8 rows are a block), a column w to steps p of −127 to
//! 127 of its own scale t. With I = q·p, an integer, the f32 sum of a·w differs from s·t·I by at most
//! s·t·(E·W + A·D): E bounds ‖a/s − q‖ plus the rounding of the f32 sum, A is ‖q‖, W is ‖w/t‖ and D is ‖w/t − p‖. NOTES.md
//! derives it.
//!
//! The first pass keeps only the greatest I of each block and column. The block with the greatest lower bound is
//! computed first, in f32: the maximum is at least the greatest value v in it. Then only blocks remain whose upper bound
//! s·t·(I + E·W + A·D) is not below v. They are computed in f32 too. The rows are in the order of their greatest values
//! beforehand, so that few blocks remain.

mod exact;
mod operands;
mod products;
mod rounding;
mod search;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use super::instruction_set::Filter;
pub(super) use operands::{Columns, Rows};
pub(super) use search::{Scratch, search};

/// Rows of a block.
const HEIGHT: usize = 8;

/// What the filter did, counted over the whole process since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// Maxima that were searched: one for each column of each group of rows.
    pub maxima: u64,
    /// Rows of those that were computed in f32: all rows of the blocks that could hold the maximum.
    pub candidates: u64,
    /// Maxima of `maxima` that were found without the filter, because it does not apply.
    pub fallbacks: u64,
}

static COUNTS: Mutex<FilterCounts> = Mutex::new(FilterCounts {
    maxima: 0,
    candidates: 0,
    fallbacks: 0,
});

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
    fn publish(&self) {
        let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        counts.maxima += self.maxima;
        counts.candidates += self.candidates;
        counts.fallbacks += self.fallbacks;
    }
}

/// What the filter did since the process started.
pub fn filter_counts() -> FilterCounts {
    *COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

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

mod choice;
mod counts;
mod exact;
mod operands;
mod products;
mod rounding;
mod search;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use choice::Filter;
pub use counts::{FilterCounts, filter_counts};
pub(super) use operands::{Columns, Rows};
pub(super) use search::{Found, Scratch, search};

/// Rows of a block.
const HEIGHT: usize = 8;

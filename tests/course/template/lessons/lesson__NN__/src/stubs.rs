//! Lesson __NN__: __TITLE__. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson__NN__` checks the lesson, `cargo test -p lesson__NN__ __N__.1` one exercise, and
//! `cargo course hint __N__.1` shows a hint.

/// The number of training steps of an epoch: over `records` records in batches of `batch`, which is at least 1.
///
/// The last batch may not be full. With `drop_last` it is then dropped, unless it is the only one. An epoch over no
/// records has no step.
pub fn iterations(records: usize, batch: usize, drop_last: bool) -> usize {
    todo!("__N__.1: full batches, and perhaps one more")
}

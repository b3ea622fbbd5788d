//! Lesson __NN__: __TITLE__. The third hints, completed.

/// Counts the steps of an epoch.
pub fn iterations(records: usize, batch: usize, drop_last: bool) -> usize {
    if drop_last && records >= batch {
        records / batch
    } else {
        records.div_ceil(batch)
    }
}

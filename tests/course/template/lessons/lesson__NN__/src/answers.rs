//! Lesson __NN__: the third hint of each exercise, completed. `M` is 0 there; each other number is one known mistake, whose cause
//! is in the exercise's file.

pub fn iterations<const M: u8>(records: usize, batch: usize, drop_last: bool) -> usize {
    match M {
        1 => return records / batch,
        2 => return records.div_ceil(batch),
        3 => return iterations::<0>(records, batch, drop_last).max(1),
        4 if drop_last => return records / batch,
        _ => {}
    }
    if drop_last && records >= batch {
        records / batch
    } else {
        records.div_ceil(batch)
    }
}

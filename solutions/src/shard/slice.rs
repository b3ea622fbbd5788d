//! Which parts of the parameters a rank owns.

use std::ops::Range;

use crate::parallel::chunk;

// ANCHOR: Slice
/// A part of one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Index of the parameter.
    pub param: usize,
    /// Its numbers in this part, counted from the first number of this parameter.
    pub range: Range<usize>,
}
// ANCHOR_END: Slice

/// Returns the parts of the parameters that rank `rank` owns. `sizes` has the number of elements of each parameter.
///
/// The parameters are laid end to end, and the list is cut into [`chunk`]s, also in the middle of a parameter. The parts are
/// in the order of the parameters, and none is empty.
pub fn slices_of_rank(sizes: &[usize], rank: usize, world_size: usize) -> Vec<Slice> {
    let own = chunk(sizes.iter().sum(), rank, world_size);
    let mut slices = Vec::new();
    let mut start = 0;
    for (param, &size) in sizes.iter().enumerate() {
        let (from, to) = (own.start.max(start), own.end.min(start + size));
        if from < to {
            let range = from - start..to - start;
            slices.push(Slice { param, range });
        }
        start += size;
    }
    slices
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slices_of_all_ranks_are_the_parameters() {
        for sizes in [&[5, 0, 3, 1][..], &[2], &[], &[0, 0], &[1, 1, 40, 7]] {
            for world in 1..=9 {
                let mut all = Vec::new();
                for rank in 0..world {
                    let slices = slices_of_rank(sizes, rank, world);
                    let own: usize = slices.iter().map(|s| s.range.len()).sum();
                    assert_eq!(own, chunk(sizes.iter().sum(), rank, world).len());
                    assert!(slices.iter().all(|s| !s.range.is_empty()));
                    all.extend(
                        slices
                            .into_iter()
                            .flat_map(|s| s.range.map(move |i| (s.param, i))),
                    );
                }
                let expected: Vec<(usize, usize)> = sizes
                    .iter()
                    .enumerate()
                    .flat_map(|(param, &size)| (0..size).map(move |i| (param, i)))
                    .collect();
                assert_eq!(all, expected, "{sizes:?} over {world}");
            }
        }
    }
}

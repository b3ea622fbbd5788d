//! Work divided into pieces independently of the number of threads, so that the result does not depend on it either.

use rayon::prelude::*;

use super::vector;

/// Elements per piece of element-wise work.
const PIECE: usize = 1 << 15;

/// `sum += more`.
pub(super) fn add_into(sum: &mut [f32], more: &[f32]) {
    sum.par_chunks_mut(PIECE)
        .zip(more.par_chunks(PIECE))
        .for_each(|(s, m)| vector::add(s, m));
}

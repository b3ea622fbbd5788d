//! Subsampling: random, one point per voxel, or farthest points. The same seed gives the same points.
//!
//! Each function returns indices into its points.

mod farthest;
mod method;
mod voxel;

use std::collections::HashSet;

use crate::Purpose;

pub use farthest::farthest;
pub use method::{Method, Subsample, subsample};
pub use voxel::{voxel, voxel_to};

/// The streams of [`Purpose::Thin`], one for each method.
const RANDOM: u64 = 1;
const FARTHEST: u64 = 2;
const VOXEL: u64 = 3;

/// `n` of `0..len` without repetition, in random order; all if `n` is at least `len`.
///
/// Takes time and memory for `n`, not for `len` (Floyd's sampling; Bentley and Floyd 1987, "A sample of
/// brilliance").
pub fn random(len: usize, n: usize, seed: u64) -> Vec<usize> {
    let n = n.min(len);
    let mut rng = Purpose::Thin.stream(seed, RANDOM);
    let mut seen = HashSet::with_capacity(n);
    let mut out = Vec::with_capacity(n);
    for last in len - n..len {
        let pick = rng.below(last + 1);
        let pick = if seen.insert(pick) { pick } else { last };
        seen.insert(pick);
        out.push(pick);
    }
    rng.shuffle(&mut out);
    out
}

//! Fewer points of a cloud: at random, one a voxel, or the farthest each time. All the same from the same seed.
//!
//! Each returns indices into the points it was given.

mod farthest;
mod method;
mod voxel;

use std::collections::HashSet;

use crate::Purpose;

pub use farthest::{farthest, farthest_from};
pub use method::{Method, Subsample, subsample, to};
pub use voxel::{voxel, voxel_to};

/// The streams of [`Purpose::Thin`], one for each method.
const RANDOM: u64 = 1;
const FARTHEST: u64 = 2;
const VOXEL: u64 = 3;

/// `n` of `0..len` without repetition, in random order; all of them where `n` is `len` or more.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_draws_each_point_once_and_all_equally_often() {
        let mut hits = [0; 10];
        for seed in 0..3_000 {
            let got = random(10, 4, seed);
            assert_eq!(got.iter().collect::<HashSet<_>>().len(), 4);
            got.iter().for_each(|&i| hits[i] += 1);
        }
        // 1,200 expected, standard deviation 27.
        assert!(hits.iter().all(|&h| (1_050..1_350).contains(&h)), "{hits:?}");
    }

    #[test]
    fn random_gives_all_where_there_are_no_more() {
        let mut got = random(5, 9, 1);
        got.sort_unstable();
        assert_eq!(got, [0, 1, 2, 3, 4]);
        assert!(random(0, 3, 1).is_empty());
        assert_eq!(random(1_000, 7, 3), random(1_000, 7, 3));
        assert_ne!(random(1_000, 7, 3), random(1_000, 7, 4));
    }
}

//! Right answers that are not written as canopy's.

use canopy_data::{Philox, sample::Subsample};
use grader::{Right, right};

use crate::{Lesson03, REFERENCE, answer_helpers::*};

pub const RIGHT: &[Right<Lesson03>] = &[
    right!("3.1", "sorted by a random key", epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut keyed: Vec<(u64, usize)> = (0..n).map(|i| (random.next_u64(), i)).collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|k| k.1).collect()
    }),
    right!("3.1", "drawn out of a bag", epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut bag: Vec<usize> = (0..n).collect();
        (0..n).map(|_| bag.swap_remove(random.below(bag.len()))).collect()
    }),
    right!("3.2", "a bag, a set of cubes, two loops", subsample: |p, what, seed| match what {
        Subsample::Random(n) => order_by(p.len(), Philox::new(seed, 7)).into_iter().take(n).collect(),
        Subsample::Voxel(e) => firsts(p, |c| c.map(|x| (x / e).floor() as i64)),
        Subsample::Farthest(_) if p.is_empty() => Vec::new(),
        Subsample::Farthest(n) => {
            let first = Philox::new(seed, 7).below(p.len());
            greedy(p, n.min(p.len()), first, false, |i, c| nearest(p, i, c))
        }
    }),
    right!("3.2", "the last point of each cube", subsample: |p, what, seed| match what {
        Subsample::Voxel(e) => {
            let back: Vec<[f32; 3]> = p.iter().rev().copied().collect();
            let mut kept: Vec<usize> = firsts(&back, |c| c.map(|x| (x / e).floor() as i64))
                .into_iter().map(|i| p.len() - 1 - i).collect();
            kept.sort_unstable();
            kept
        }
        what => (REFERENCE.subsample)(p, what, seed),
    }),
    right!("3.3", "point by point", collate_ragged: |c, d| collated(c, d, COLLATE)),
    right!("3.4", "with a loop over the bounds", length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left);
        out
    }),
    right!("3.5", "over the standard library's channels", prefetched: |n, w, a, m, t| pooled(n, w, a, m, t, POOL)),
    right!("3.6", "united until nothing changes", together: |t, p| {
        grouped(t.len(), t.len(), |i, j| t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j]))
    }),
];

//! Farthest-point sampling (Eldar et al. 1997; Gonzalez 1985): each next point is the one farthest from all
//! chosen so far.
//!
//! Exact, with the same indices as the plain double loop. Points are in the buckets of a k-d tree, and a bucket is updated
//! only if the new point is nearer to its box than its farthest point is to the chosen ones (Han et al. 2023,
//! "QuickFPS").

use anyhow::{Result, ensure};

use crate::Purpose;

/// Points of a bucket, at most.
const BUCKET: usize = 512;

/// `n` points of the cloud in the order in which they are chosen, the first by seed; all if there are at most `n`. Of
/// equally far points the first in the cloud is chosen.
///
/// # Errors
/// Returns an error if a coordinate is not finite.
pub fn farthest(points: &[[f32; 3]], n: usize, seed: u64) -> Result<Vec<usize>> {
    if let Some(i) = points.iter().position(|p| p.iter().any(|c| !c.is_finite())) {
        anyhow::bail!("point {i} is {:?}: not finite", points[i]);
    }
    ensure!(
        u32::try_from(points.len()).is_ok(),
        "{} points: farthest-point sampling takes at most {}; thin them at random first",
        points.len(),
        u32::MAX
    );
    if points.is_empty() || n == 0 {
        return Ok(Vec::new());
    }
    let first = Purpose::Thin.stream(seed, super::FARTHEST).below(points.len());
    let n = n.min(points.len());
    let mut buckets = buckets(points);
    let mut chosen = vec![first];
    while chosen.len() < n {
        let new = points[chosen[chosen.len() - 1]];
        let mut best = (f32::NEG_INFINITY, u32::MAX);
        for bucket in &mut buckets {
            if bucket.least_distance(new) < bucket.farthest.0 {
                bucket.update(new);
            }
            if farther(bucket.farthest, best) {
                best = bucket.farthest;
            }
        }
        if best.0 <= 0.0 {
            // Only copies of chosen points are left: the first ones that are free, as the plain loop cannot say.
            fill(&mut chosen, points.len(), n);
            break;
        }
        chosen.push(best.1 as usize);
    }
    Ok(chosen)
}

/// Distance and index of a point; the lower index wins a tie.
type Far = (f32, u32);

fn farther(a: Far, b: Far) -> bool {
    a.0 > b.0 || (a.0 == b.0 && a.1 < b.1)
}

fn fill(chosen: &mut Vec<usize>, len: usize, n: usize) {
    let mut taken = vec![false; len];
    chosen.iter().for_each(|&i| taken[i] = true);
    let free = (0..len).filter(|&i| !taken[i]);
    let more = n - chosen.len();
    chosen.extend(free.take(more));
}

struct Bucket {
    min: [f32; 3],
    max: [f32; 3],
    axes: [Vec<f32>; 3],
    index: Vec<u32>,
    /// Squared distance of each point to the nearest chosen one.
    distance: Vec<f32>,
    farthest: Far,
}

impl Bucket {
    fn new(points: &[[f32; 3]], mut index: Vec<u32>) -> Self {
        index.sort_unstable();
        let axes: [Vec<f32>; 3] = [0, 1, 2].map(|a| index.iter().map(|&i| points[i as usize][a]).collect());
        Self {
            min: [0, 1, 2].map(|a| axes[a].iter().copied().fold(f32::INFINITY, f32::min)),
            max: [0, 1, 2].map(|a| axes[a].iter().copied().fold(f32::NEG_INFINITY, f32::max)),
            distance: vec![f32::INFINITY; index.len()],
            farthest: (f32::INFINITY, index[0]),
            axes,
            index,
        }
    }

    /// No point of the bucket has a lower squared distance to `p`. Rounded like `update`'s, operation by
    /// operation, so that it cannot come out above a distance that it bounds.
    fn least_distance(&self, p: [f32; 3]) -> f32 {
        let d: [f32; 3] = std::array::from_fn(|a| (self.min[a] - p[a]).max(p[a] - self.max[a]).max(0.0));
        d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    }

    fn update(&mut self, p: [f32; 3]) {
        let [xs, ys, zs] = &self.axes;
        let mut most = f32::NEG_INFINITY;
        for (((distance, x), y), z) in self.distance.iter_mut().zip(xs).zip(ys).zip(zs) {
            let (dx, dy, dz) = (x - p[0], y - p[1], z - p[2]);
            let d = dx * dx + dy * dy + dz * dz;
            *distance = if d < *distance { d } else { *distance };
            most = if *distance > most { *distance } else { most };
        }
        // Indices ascend within a bucket: the first that is as far is the lowest.
        let at = self.distance.iter().position(|&d| d == most).unwrap_or(0);
        self.farthest = (most, self.index[at]);
    }
}

/// Halves the points at the median of their widest axis until a bucket is small.
fn buckets(points: &[[f32; 3]]) -> Vec<Bucket> {
    let mut out = Vec::new();
    let mut todo = vec![(0..points.len() as u32).collect::<Vec<u32>>()];
    while let Some(mut index) = todo.pop() {
        let widest = (index.len() > BUCKET)
            .then(|| widest_axis(points, &index))
            .flatten();
        let Some(axis) = widest else {
            out.push(Bucket::new(points, index));
            continue;
        };
        let middle = index.len() / 2;
        index.select_nth_unstable_by(middle, |&a, &b| {
            points[a as usize][axis].total_cmp(&points[b as usize][axis])
        });
        todo.push(index.split_off(middle));
        todo.push(index);
    }
    out
}

/// The axis with the largest extent; `None` if all points are equal.
fn widest_axis(points: &[[f32; 3]], index: &[u32]) -> Option<usize> {
    let mut low = [f32::INFINITY; 3];
    let mut high = [f32::NEG_INFINITY; 3];
    for &i in index {
        for a in 0..3 {
            low[a] = low[a].min(points[i as usize][a]);
            high[a] = high[a].max(points[i as usize][a]);
        }
    }
    let axis = (0..3).max_by(|&a, &b| (high[a] - low[a]).total_cmp(&(high[b] - low[b])))?;
    (high[axis] > low[axis]).then_some(axis)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Philox;

    /// The definition, in two loops.
    fn plain(points: &[[f32; 3]], n: usize, first: usize) -> Vec<usize> {
        let mut distance = vec![f32::INFINITY; points.len()];
        let mut chosen = vec![first];
        while chosen.len() < n {
            let p = points[chosen[chosen.len() - 1]];
            for (d, q) in distance.iter_mut().zip(points) {
                let (x, y, z) = (q[0] - p[0], q[1] - p[1], q[2] - p[2]);
                *d = d.min(x * x + y * y + z * z);
            }
            let far = distance.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            chosen.push(distance.iter().position(|&d| d == far).unwrap());
        }
        chosen
    }

    fn cloud(n: usize, seed: u64, grid: bool) -> Vec<[f32; 3]> {
        let mut rng = Philox::new(seed, 1);
        let mut coordinate = || (rng.normal() * 5.0) as f32;
        let round = |c: f32| if grid { c.round() + 0.0 } else { c };
        (0..n).map(|_| [(); 3].map(|()| round(coordinate()))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn it_chooses_what_the_definition_chooses(len in 1usize..3_000, n in 1usize..80, seed: u64, grid: bool) {
            let points = cloud(len, seed, grid);
            let distinct = points.iter().map(|p| p.map(f32::to_bits)).collect::<HashSet<_>>();
            let n = n.min(distinct.len());
            let got = farthest(&points, n, seed).unwrap();
            prop_assert_eq!(&got, &plain(&points, n, got[0]));
        }
    }

    #[test]
    fn copies_are_taken_once_each_and_clouds_that_are_not_finite_are_refused() {
        let mut points = vec![[1.0, 2.0, 3.0]; 2_000];
        points[1_234] = [4.0, 4.0, 4.0];
        let got = farthest(&points, 500, 7).unwrap();
        assert!(got[..2].contains(&1_234));
        assert_eq!(HashSet::<&usize>::from_iter(&got).len(), 500);
        assert_eq!(farthest(&points, 9_999, 7).unwrap().len(), 2_000);
        assert!(farthest(&[], 5, 1).unwrap().is_empty());
        assert!(farthest(&[[0.0; 3], [0.0, f32::NAN, 0.0]], 1, 1).is_err());
    }
}

//! Points sampled from a cloud, and the coordinate frame in which the network sees them.

use canopy_data::Philox;
use serde::{Deserialize, Serialize};

/// `n` points sampled without replacement. If the cloud has only `len` < `n` points, each is taken ⌊n/len⌋ or ⌈n/len⌉
/// times. The sample of an empty cloud is empty.
pub fn random_sample(points: &[[f32; 3]], n: usize, random: &mut Philox) -> Vec<[f32; 3]> {
    let indices = random_indices(points.len(), n, random);
    indices.into_iter().map(|i| points[i]).collect()
}

/// The indices of the points that [`random_sample`] takes from a cloud of `len` points.
pub(super) fn random_indices(len: usize, n: usize, random: &mut Philox) -> Vec<usize> {
    if len == 0 {
        return Vec::new();
    }
    let mut sample = Vec::with_capacity(n);
    while n - sample.len() >= len {
        sample.extend(0..len);
    }
    // A Fisher-Yates shuffle that stores only the positions that were swapped: time and memory grow with the sample,
    // not with the cloud.
    let mut moved = std::collections::HashMap::new();
    for i in 0..n - sample.len() {
        let j = i + random.below(len - i);
        let at_i = *moved.get(&i).unwrap_or(&i);
        let at_j = moved.insert(j, at_i).unwrap_or(j);
        sample.push(at_j);
    }
    sample
}

/// Moves the centroid to the origin and scales the farthest point to distance 1, in place. The z axis stays vertical.
/// If all points are at the same place, they all move to the origin.
pub fn normalise(points: &mut [[f32; 3]]) {
    // Their mean, as computed below, may differ from them in its last digit: no distance to scale to 1.
    if points.windows(2).all(|pair| pair[0] == pair[1]) {
        points.fill([0.0; 3]);
        return;
    }
    let n = points.len() as f64;
    let mut centre = [0f64; 3];
    for p in points.iter() {
        for a in 0..3 {
            centre[a] += f64::from(p[a]) / n;
        }
    }
    let mut farthest = 0f32;
    for p in points.iter_mut() {
        for a in 0..3 {
            p[a] = (f64::from(p[a]) - centre[a]) as f32;
        }
        farthest = farthest.max(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    }
    if farthest > 0.0 {
        let scale = 1.0 / farthest.sqrt();
        points.iter_mut().flatten().for_each(|c| *c *= scale);
    }
}

/// The coordinate frame in which the network sees a cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Frame {
    /// Centroid at the origin, farthest point at distance 1: only the shape counts. See [`normalise`].
    #[default]
    Sphere,
    /// Size counts as well: x and y are relative to the centroid, z is the height above 0 (the cloud's origin
    /// included), and all are in units of 20 m. For clouds whose z is the height above ground.
    Metric,
}

/// The unit of [`Frame::Metric`] in metres: about the height of a grown tree.
const METRES: f64 = 20.0;

impl Frame {
    /// Moves `points` into the frame, in place. `origin_z` is the height of the cloud's origin in metres.
    pub fn apply(self, points: &mut [[f32; 3]], origin_z: f64) {
        match self {
            Self::Sphere => normalise(points),
            Self::Metric => {
                let n = points.len().max(1) as f64;
                let mean = |a: usize| points.iter().map(|p| f64::from(p[a])).sum::<f64>() / n;
                let zero = [mean(0), mean(1), -origin_z];
                for p in points.iter_mut() {
                    for a in 0..3 {
                        p[a] = ((f64::from(p[a]) - zero[a]) / METRES) as f32;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sample_takes_all_points_equally_often(len in 1usize..60, n in 0usize..200, seed: u64) {
            let points: Vec<[f32; 3]> = (0..len).map(|i| [i as f32, 0.0, 0.0]).collect();
            let sample = random_sample(&points, n, &mut Philox::new(seed, 1));
            prop_assert_eq!(sample.len(), n);
            let mut times = vec![0; len];
            sample.iter().for_each(|p| times[p[0] as usize] += 1);
            prop_assert!(times.iter().all(|&t| t == n / len || t == n / len + 1), "{:?}", times);
        }
    }

    #[test]
    fn the_metric_frame_keeps_size_and_height_above_ground() {
        let mut points = vec![[100.0, 40.0, 3.0], [104.0, 44.0, 23.0]];
        Frame::Metric.apply(&mut points, 2.0);
        assert_eq!(points, [[-0.1, -0.1, 0.25], [0.1, 0.1, 1.25]]);
    }

    #[test]
    fn an_empty_cloud_has_no_sample() {
        assert!(random_sample(&[], 8, &mut Philox::new(0, 0)).is_empty());
    }
}

//! A fixed number of points from any cloud, in a frame of the cloud's own.

use canopy_data::Philox;
use serde::{Deserialize, Serialize};

/// `n` points drawn without putting back; where the cloud has fewer, each at least ⌊n/len⌋ times.
/// An empty cloud gives an empty sample.
pub fn random_sample(points: &[[f32; 3]], n: usize, random: &mut Philox) -> Vec<[f32; 3]> {
    let indices = random_indices(points.len(), n, random);
    indices.into_iter().map(|i| points[i]).collect()
}

/// The indices of [`random_sample`]'s points among `len`.
pub(super) fn random_indices(len: usize, n: usize, random: &mut Philox) -> Vec<usize> {
    if len == 0 {
        return Vec::new();
    }
    let mut sample = Vec::with_capacity(n);
    while n - sample.len() >= len {
        sample.extend(0..len);
    }
    // Fisher and Yates over a sparse table: as much work as there are points to draw, not points to draw from.
    let mut moved = std::collections::HashMap::new();
    for i in 0..n - sample.len() {
        let j = i + random.below(len - i);
        let at_i = *moved.get(&i).unwrap_or(&i);
        let at_j = moved.insert(j, at_i).unwrap_or(j);
        sample.push(at_j);
    }
    sample
}

/// Moves the centroid to the origin and scales the farthest point to distance 1, in place. "Up" stays up.
/// Points that all stand in one place end at the origin.
pub fn normalise(points: &mut [[f32; 3]]) {
    let n = points.len().max(1) as f64;
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

/// In which frame the network sees a cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Frame {
    /// Centroid at the origin, farthest point at distance 1: shape alone counts. See [`normalise`].
    #[default]
    Sphere,
    /// Size counts too: the centroid's x and y at the origin, z as it is, all in units of 20 m. For clouds
    /// whose z is height above ground.
    Metric,
}

/// Metres that [`Frame::Metric`] takes for 1: about a grown tree's height.
const METRES: f64 = 20.0;

impl Frame {
    /// Moves `points` into the frame, in place. `origin_z` is the height of the cloud's origin, metres.
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

    fn cloud(n: usize, seed: u64) -> Vec<[f32; 3]> {
        let mut r = Philox::new(seed, 0);
        (0..n)
            .map(|_| [r.uniform() * 9.0, r.uniform() * 7.0 - 3.0, r.uniform() * 30.0])
            .collect()
    }

    proptest! {
        #[test]
        fn a_sample_has_n_points_as_evenly_as_can_be(len in 1usize..60, n in 0usize..200, seed: u64) {
            let points: Vec<[f32; 3]> = (0..len).map(|i| [i as f32, 0.0, 0.0]).collect();
            let sample = random_sample(&points, n, &mut Philox::new(seed, 1));
            prop_assert_eq!(sample.len(), n);
            let mut times = vec![0; len];
            sample.iter().for_each(|p| times[p[0] as usize] += 1);
            prop_assert!(times.iter().all(|&t| t == n / len || t == n / len + 1), "{:?}", times);
        }

        #[test]
        fn normalised_clouds_sit_in_the_unit_sphere(len in 2usize..60, seed: u64) {
            let mut points = cloud(len, seed);
            normalise(&mut points);
            let norms = points.iter().map(|p| p.iter().map(|c| c * c).sum::<f32>().sqrt());
            approx::assert_relative_eq!(norms.fold(0.0, f32::max), 1.0, epsilon = 1e-5);
            for a in 0..3 {
                let mean = points.iter().map(|p| p[a]).sum::<f32>() / len as f32;
                prop_assert!(mean.abs() < 1e-5, "axis {} has mean {}", a, mean);
            }
        }
    }

    #[test]
    fn the_metric_frame_keeps_size_and_height_above_ground() {
        let mut points = vec![[100.0, 40.0, 3.0], [104.0, 44.0, 23.0]];
        Frame::Metric.apply(&mut points, 2.0);
        assert_eq!(points, [[-0.1, -0.1, 0.25], [0.1, 0.1, 1.25]]);
    }

    #[test]
    fn equal_points_and_empty_clouds_are_no_trouble() {
        let mut same = vec![[3.0, -2.0, 9.0]; 5];
        normalise(&mut same);
        assert_eq!(same, vec![[0.0; 3]; 5]);
        normalise(&mut []);
        assert!(random_sample(&[], 8, &mut Philox::new(0, 0)).is_empty());
    }
}

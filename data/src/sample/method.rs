//! Subsampling methods as values.

use std::sync::Arc;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{farthest, random, voxel, voxel_to};
use crate::{Cloud, Dataset};

// ANCHOR: Subsample
/// How to subsample a cloud, and to how many points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subsample {
    /// This many points at random.
    Random(usize),
    /// One point of each occupied cube with edges of this length, metres.
    Voxel(f32),
    /// This many points, each the farthest from all before it.
    Farthest(usize),
}
// ANCHOR_END: Subsample

/// Indices of the points that `what` keeps, without repetition. The same seed gives the same points.
///
/// # Errors
/// Returns an error if a coordinate is not finite or the edge of a voxel is not positive.
pub fn subsample(points: &[[f32; 3]], what: Subsample, seed: u64) -> Result<Vec<usize>> {
    match what {
        Subsample::Random(n) => Ok(random(points.len(), n, seed)),
        Subsample::Voxel(edge) => voxel(points, edge, seed),
        Subsample::Farthest(n) => farthest(points, n, seed),
    }
}

/// A subsampling method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Random: keeps the density of the scan.
    #[default]
    Random,
    /// One per voxel: even in space, random within a voxel.
    Voxel,
    /// Farthest points: as even as possible, with every outlier.
    Farthest,
}

impl Method {
    /// At most `n` points of `cloud` by this method. [`Method::Random`] keeps all, because the loader draws points itself.
    /// The others keep all if the points that they would keep are at the same place.
    ///
    /// # Errors
    /// Returns an error if a coordinate is not finite.
    pub fn thin(self, cloud: Cloud, n: usize, seed: u64) -> Result<Cloud> {
        let kept = match self {
            _ if cloud.len() <= n => return Ok(cloud),
            Self::Random => return Ok(cloud),
            Self::Voxel => voxel_to(&cloud.xyz, n, seed)?,
            Self::Farthest => farthest(&cloud.xyz, n, seed)?,
        };
        let thinned = cloud.select(&kept);
        Ok(if thinned.has_extent() { thinned } else { cloud })
    }
}

impl Dataset {
    /// The same set with clouds that are subsampled by `method` when they are read, to the same points each time. With
    /// [`Method::Random`] it is the set itself, because the loader draws points itself.
    pub fn sampled(&self, method: Method, points: usize, seed: u64) -> Self {
        if method == Method::Random {
            return self.clone();
        }
        let records = Arc::clone(&self.records);
        self.map(move |index, cloud| {
            let thinned = method.thin(cloud, points, seed);
            thinned.with_context(|| format!("thinning {}", records[index].source))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Philox;

    #[test]
    fn a_set_is_thinned_as_it_is_read_and_keeps_its_echo_and_its_extent() {
        let mut random = Philox::new(8, 8);
        let points = (0..500).map(|_| [0; 3].map(|_| random.uniform()));
        let whole = Cloud {
            intensity: (0..500).collect(),
            ..Cloud::from_points(points.collect())
        };
        let set = Dataset::of_clouds(vec![whole.clone()]);
        let thinned = |method, n, seed| set.sampled(method, n, seed).cloud(0).unwrap();
        for method in [Method::Voxel, Method::Farthest] {
            let cloud = thinned(method, 60, 3);
            assert_eq!(cloud.len(), 60);
            assert_eq!(cloud, thinned(method, 60, 3));
            assert_ne!(cloud.xyz, thinned(method, 60, 4).xyz);
            for (p, &i) in cloud.xyz.iter().zip(&cloud.intensity) {
                assert_eq!(*p, whole.xyz[usize::from(i)]);
            }
        }
        assert_eq!(thinned(Method::Random, 60, 3), whole);
        assert_eq!(thinned(Method::Farthest, 600, 3), whole);
        let mut points = vec![[0.0; 3]; 500];
        points.push([1.0; 3]);
        for seed in 0..20 {
            let cloud = Cloud::from_points(points.clone());
            assert!(Method::Voxel.thin(cloud, 60, seed).unwrap().has_extent());
        }
    }
}

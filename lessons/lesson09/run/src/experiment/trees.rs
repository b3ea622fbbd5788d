//! The built-in trees as short lists of numbers, for a network that is small enough to shard by hand.

use anyhow::Result;
use canopy::train::{Config, short::Forest};

/// Points of a cloud, and slices into which a tree is cut.
const POINTS: usize = 256;
const SLICES: usize = 16;
/// Numbers of a tree: points, mean distance from the axis and its spread, for each slice.
pub const FEATURES: usize = 3 * SLICES;

/// The training trees.
pub struct Trees {
    /// `[trees, FEATURES]`, row by row.
    pub features: Vec<f32>,
    pub labels: Vec<u32>,
    pub species: usize,
}

impl Trees {
    pub fn open(seed: u64) -> Result<Self> {
        let config = Config {
            points: POINTS,
            turn: false,
            jitter: 0.0,
            scale: 0.0,
            seed,
            ..Config::default()
        };
        let forest = Forest::open(config)?;
        let batch = forest.batch(&forest.split.train, 0)?;
        let clouds = batch.points.chunks(POINTS * batch.channels);
        let mut features: Vec<f32> = clouds.flat_map(|cloud| slices(cloud, batch.channels)).collect();
        standardise(&mut features);
        Ok(Self {
            features,
            labels: batch.labels,
            species: forest.data.species.len(),
        })
    }

    /// The features and labels of trees `of`.
    pub fn rows(&self, of: &[usize]) -> (Vec<f32>, Vec<u32>) {
        let row = |&i: &usize| self.features[i * FEATURES..(i + 1) * FEATURES].iter().copied();
        (
            of.iter().flat_map(row).collect(),
            of.iter().map(|&i| self.labels[i]).collect(),
        )
    }
}

/// The numbers of a cloud. Its third coordinate is the height.
fn slices(cloud: &[f32], channels: usize) -> Vec<f32> {
    let heights = || cloud.chunks(channels).map(|p| p[2]);
    let (low, high) = (
        heights().fold(f32::INFINITY, f32::min),
        heights().fold(f32::NEG_INFINITY, f32::max),
    );
    let mut sums = vec![[0f32; 3]; SLICES];
    for point in cloud.chunks(channels) {
        let share = (point[2] - low) / (high - low).max(1e-6);
        let slice = &mut sums[((share * SLICES as f32) as usize).min(SLICES - 1)];
        let distance = point[0].hypot(point[1]);
        slice[0] += 1.0;
        slice[1] += distance;
        slice[2] += distance * distance;
    }
    let three = |[n, sum, squares]: [f32; 3]| {
        let mean = sum / n.max(1.0);
        [n, mean, (squares / n.max(1.0) - mean * mean).max(0.0).sqrt()]
    };
    sums.into_iter().flat_map(three).collect()
}

/// Gives each feature the mean 0 and the standard deviation 1.
fn standardise(features: &mut [f32]) {
    let rows = (features.len() / FEATURES).max(1) as f32;
    for column in 0..FEATURES {
        let values = || features.iter().skip(column).step_by(FEATURES);
        let mean = values().sum::<f32>() / rows;
        let spread = (values().map(|v| (v - mean).powi(2)).sum::<f32>() / rows).sqrt();
        for value in features.iter_mut().skip(column).step_by(FEATURES) {
            *value = (*value - mean) / spread.max(1e-6);
        }
    }
}

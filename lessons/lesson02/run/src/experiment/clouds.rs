//! Trees of the forest as clouds in memory, and as the network sees them.

use anyhow::Result;
use candle_core::{Device, Tensor};
use canopy::{loader::random_sample, train::short::Forest};
use canopy_data::Philox;
use lesson02::Lesson02;

/// Points of a cloud as the network sees it.
pub const POINTS: usize = 512;

pub type Cloud = Vec<[f32; 3]>;

pub struct Tree {
    pub species: u32,
    pub points: Cloud,
}

/// All points of some trees.
pub fn trees(forest: &Forest, records: &[usize]) -> Result<Vec<Tree>> {
    let tree = |&record: &usize| {
        Ok(Tree {
            species: forest.data.records[record].species as u32,
            points: forest.data.cloud(record)?.xyz,
        })
    };
    records.iter().map(tree).collect()
}

/// [`POINTS`] of a tree's points, normalised by exercise 2.1.
pub fn sampled(answer: &Lesson02, tree: &Tree, random: &mut Philox) -> Cloud {
    let mut cloud = random_sample(&tree.points, POINTS, random);
    (answer.normalise)(&mut cloud);
    cloud
}

/// Clouds of equally many points in one tensor, `[clouds, points, 3]`.
pub fn batch(clouds: &[Cloud]) -> Result<Tensor> {
    let points = clouds.first().map_or(0, Vec::len);
    let numbers: Vec<f32> = clouds.iter().flatten().flatten().copied().collect();
    Ok(Tensor::from_vec(
        numbers,
        (clouds.len(), points, 3),
        &Device::Cpu,
    )?)
}

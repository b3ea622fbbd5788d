//! Trees of the built-in forest, some to learn from and others, of other plots, to try.

use anyhow::Result;
use candle_core::{Device, Tensor};
use canopy::{
    loader::random_sample,
    train::{Config, short},
};
use canopy_data::{Dataset, Philox};
use lesson02::Lesson02;

/// Points of a cloud as the network sees it.
pub const POINTS: usize = 512;

pub type Cloud = Vec<[f32; 3]>;

pub struct Tree {
    pub species: u32,
    pub points: Cloud,
}

pub struct Forest {
    pub species: Vec<String>,
    pub train: Vec<Tree>,
    pub test: Vec<Tree>,
    /// Where the network is.
    pub device: Device,
}

/// The forest, split by plots as `canopy train` splits it.
pub fn forest() -> Result<Forest> {
    let short::Forest {
        data, split, device, ..
    } = short::Forest::open(Config::default())?;
    let read = |records: &[usize]| -> Result<Vec<Tree>> { records.iter().map(|&r| tree(&data, r)).collect() };
    Ok(Forest {
        train: read(&split.train)?,
        test: read(&split.test)?,
        species: data.species.clone(),
        device,
    })
}

fn tree(data: &Dataset, record: usize) -> Result<Tree> {
    Ok(Tree {
        species: data.records[record].species as u32,
        points: data.cloud(record)?.xyz,
    })
}

/// [`POINTS`] of a tree's points, normalised by the piece of exercise 2.1.
pub fn seen(answer: &Lesson02, tree: &Tree, random: &mut Philox) -> Cloud {
    let mut cloud = random_sample(&tree.points, POINTS, random);
    (answer.normalise)(&mut cloud);
    cloud
}

/// Clouds of equally many points side by side: `[clouds, points, 3]`.
pub fn batch(clouds: &[Cloud]) -> Result<Tensor> {
    let points = clouds.first().map_or(0, Vec::len);
    let numbers: Vec<f32> = clouds.iter().flatten().flatten().copied().collect();
    Ok(Tensor::from_vec(
        numbers,
        (clouds.len(), points, 3),
        &Device::Cpu,
    )?)
}

//! The same short training on one and on several ranks, by the trainer itself.

use std::sync::Arc;

use anyhow::Result;
use canopy::{
    device,
    parallel::{AllReduce, BucketSizes, Link},
    train::{
        Config,
        ranks::{
            RankFunctions,
            measure::{ShortRun, Start, short_run},
        },
        short::Forest,
    },
};
use lesson08::Lesson08;

/// Points of a cloud.
pub const POINTS: usize = 256;

/// The ring of exercise 8.2, both halves.
pub fn ring(answer: &Lesson08) -> AllReduce {
    let answer = *answer;
    Arc::new(move |link: &dyn Link, data: &mut [f32]| {
        (answer.ring_reduce_scatter)(link, data)?;
        (answer.ring_all_gather)(link, data)
    })
}

/// Returns the largest absolute difference of a parameter between two runs.
pub fn difference(one: &ShortRun, other: &ShortRun) -> f32 {
    let pairs = one.params.iter().zip(&other.params);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// What all trainings have in common: trees, settings, and exercises 8.1 to 8.4.
pub struct Training {
    pub forest: Forest,
    pub answer: Lesson08,
}

impl Training {
    /// A half-wide PointNet, three epochs, SGD with momentum; dropout and augmentation as by default.
    pub fn open(answer: &Lesson08, seed: u64) -> Result<Self> {
        let forest = Forest::open(Config {
            points: POINTS,
            width: 2,
            epochs: 3,
            optimizer: "sgd".into(),
            learning_rate: 0.01,
            weight_decay: 1e-4,
            seed,
            ..Config::default()
        })?;
        Ok(Self {
            forest,
            answer: *answer,
        })
    }

    /// Trains on `ranks` ranks that share batches of `batch` clouds. With `overlap`, the buckets of 8.3 are sent during
    /// the backward pass; without it, 8.4 averages all gradients afterwards.
    pub fn run(&self, (ranks, batch): (usize, usize), overlap: bool, start: Start) -> Result<ShortRun> {
        let config = Config {
            ranks,
            batch,
            overlap,
            ..self.forest.config.clone()
        };
        let functions = RankFunctions {
            share: self.answer.share_of_epoch,
            buckets: self.answer.buckets,
            // The network is small, and so are its buckets: otherwise one would contain all gradients.
            sizes: BucketSizes {
                first: 64 << 10,
                others: 256 << 10,
            },
            all_reduce: ring(&self.answer),
            average: self.answer.average_gradients,
            ..RankFunctions::default()
        };
        let data = (&self.forest.data, &*self.forest.split.train);
        short_run(device::choose("cpu")?, &config, data, functions, start)
    }
}

//! The same short training on one and on several ranks, by the trainer itself.

use anyhow::Result;
use canopy::train::{
    Config, data,
    ranks::measure::{ShortRun, short_run},
};
use canopy_data::{Dataset, builtin, cache_folder};
use lesson08::Lesson08;

use super::pieces::pieces;

/// How many ranks are tried.
pub const RANKS: [usize; 3] = [1, 2, 4];
/// Clouds of a batch that all ranks share.
pub const SHARED: usize = 32;
/// Clouds of each rank where the batch grows with the ranks.
pub const EACH: usize = 16;
/// Points of a cloud.
pub const POINTS: usize = 128;

/// The trees that train.
pub struct Forest {
    data: Dataset,
    pub records: Vec<usize>,
    seed: u64,
}

impl Forest {
    /// Split by plots, as `canopy train` splits.
    pub fn open(seed: u64) -> Result<Self> {
        let loaded = builtin::load(&builtin::Config::default(), &cache_folder(), &|done, total| {
            if done == 0 {
                eprintln!("growing the forest, {total} scans (once; it is kept)");
            }
        })?;
        let data = loaded.dataset;
        let records = data::split(&Config::default(), &data)?.train;
        Ok(Self { data, records, seed })
    }

    /// A quarter-wide PointNet, three epochs, SGD with momentum; dropout and augmentation as ever.
    fn config(&self, ranks: usize, batch: usize) -> Config {
        Config {
            ranks,
            batch,
            points: POINTS,
            width: 4,
            epochs: 3,
            optimizer: "sgd".into(),
            learning_rate: 0.01,
            weight_decay: 1e-4,
            seed: self.seed,
            ..Config::default()
        }
    }

    fn run(&self, answer: &Lesson08, ranks: usize, batch: usize, overlap: bool) -> Result<ShortRun> {
        let config = self.config(ranks, batch);
        short_run(&config, &self.data, &self.records, pieces(answer, overlap))
    }

    /// On each of [`RANKS`]: a batch that is shared; one that grows with the ranks; and on two, a shared one without overlap.
    pub fn all(&self, answer: &Lesson08) -> Result<(Vec<ShortRun>, Vec<ShortRun>, ShortRun)> {
        let each = |batch: fn(usize) -> usize| -> Result<Vec<ShortRun>> {
            let run = |&ranks: &usize| self.run(answer, ranks, batch(ranks), true);
            RANKS.iter().map(run).collect()
        };
        Ok((
            each(|_| SHARED)?,
            each(|ranks| EACH * ranks)?,
            self.run(answer, 2, SHARED, false)?,
        ))
    }
}

//! The same short training on one and on several ranks, by the trainer itself.

use anyhow::Result;
use canopy::{
    device,
    train::{
        Config,
        ranks::measure::{ShortRun, Start, short_run},
        short,
    },
};
use canopy_data::Dataset;
use lesson08::Lesson08;

use super::functions::functions;

/// The numbers of ranks that are tried.
pub const RANKS: [usize; 3] = [1, 2, 4];
/// Clouds of a batch that all ranks share.
pub const SHARED: usize = 32;
/// Clouds of each rank if the batch grows with the ranks.
pub const EACH: usize = 16;
/// Points of a cloud.
pub const POINTS: usize = 256;

/// The runs, one for each of [`RANKS`] if there are several.
pub struct Runs {
    /// A batch that all ranks share.
    pub shared: Vec<ShortRun>,
    /// A batch that grows with the ranks.
    pub grown: Vec<ShortRun>,
    /// Two ranks with a shared batch, gradients averaged after the backward pass.
    pub at_once: ShortRun,
    /// One rank that starts with the last bit of each parameter changed.
    pub other_bits: ShortRun,
}

/// Returns the largest absolute difference of a parameter between two runs.
pub fn apart(one: &ShortRun, other: &ShortRun) -> f32 {
    let pairs = one.params.iter().zip(&other.params);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// The trees of the training set.
pub struct TrainingSet {
    data: Dataset,
    pub records: Vec<usize>,
    seed: u64,
}

impl TrainingSet {
    /// Split by plots, as `canopy train` splits.
    pub fn open(seed: u64) -> Result<Self> {
        let short::Forest { data, split, .. } = short::Forest::open(Config::default())?;
        let records = split.train;
        Ok(Self { data, records, seed })
    }

    /// A half-wide PointNet, three epochs, SGD with momentum; dropout and augmentation as by default.
    fn config(&self, ranks: usize, batch: usize) -> Config {
        Config {
            ranks,
            batch,
            points: POINTS,
            width: 2,
            epochs: 3,
            optimizer: "sgd".into(),
            learning_rate: 0.01,
            weight_decay: 1e-4,
            seed: self.seed,
            ..Config::default()
        }
    }

    fn run(&self, answer: &Lesson08, ranks: usize, batch: usize, overlap: bool) -> Result<ShortRun> {
        self.started(answer, (ranks, batch), overlap, Start::Threads)
    }

    /// One run of `ranks` ranks that share batches of `batch` clouds.
    pub fn started(
        &self,
        answer: &Lesson08,
        (ranks, batch): (usize, usize),
        overlap: bool,
        start: Start,
    ) -> Result<ShortRun> {
        let (cpu, data) = (device::choose("cpu")?, (&self.data, &*self.records));
        let config = Config {
            overlap,
            ..self.config(ranks, batch)
        };
        short_run(cpu, &config, data, functions(answer), start)
    }

    /// All runs, after one for warm-up.
    pub fn all(&self, answer: &Lesson08) -> Result<Runs> {
        self.run(answer, 2, SHARED, true)?;
        let each = |batch: fn(usize) -> usize| -> Result<Vec<ShortRun>> {
            let run = |&ranks: &usize| self.run(answer, ranks, batch(ranks), true);
            RANKS.iter().map(run).collect()
        };
        Ok(Runs {
            shared: each(|_| SHARED)?,
            grown: each(|ranks| EACH * ranks)?,
            at_once: self.run(answer, 2, SHARED, false)?,
            other_bits: self.started(answer, (1, SHARED), true, Start::OtherBits)?,
        })
    }
}

//! A small forest, a small model, and a run over them.

use std::{path::Path, sync::Arc, sync::atomic::AtomicBool, thread, time::Duration};

use anyhow::Result;
use canopy::{
    device,
    loader::{batches, epoch_order},
    model::Kind,
    parallel::BucketSizes,
    train::{Config, Outcome, RunFolder, Trainer, checkpoint, ranks::RankFunctions},
};
use canopy_data::{Cloud, CloudSource, Dataset, Philox, Scan, TreeRecord, split::Split};

/// Clouds whose class is their shape. One record may be unreadable or slow to read.
#[derive(Debug, Default)]
pub struct Shapes {
    pub unreadable: Option<usize>,
    pub slow: Option<usize>,
}

impl Shapes {
    /// Returns a record of rank 1 of 3 in step 1, and clouds of which this one is unreadable.
    pub fn one_unreadable() -> (usize, Self) {
        // The second cloud of a batch belongs to rank 1.
        let record = first_epoch(&config(3))[1][1];
        let source = Self {
            unreadable: Some(record),
            ..Self::default()
        };
        (record, source)
    }
}

/// The batches of the first epoch.
pub fn first_epoch(config: &Config) -> Vec<Vec<usize>> {
    let train = split().train;
    let order: Vec<usize> = epoch_order(train.len(), config.seed, 0)
        .into_iter()
        .map(|i| train[i])
        .collect();
    batches(&order, config.batch * config.accumulate, true)
}

impl CloudSource for Shapes {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        anyhow::ensure!(self.unreadable != Some(index), "it cannot be read");
        if self.slow == Some(index) {
            thread::sleep(Duration::from_secs(4));
        }
        let mut random = Philox::new(index as u64, 3);
        let wide = [1.0, 0.4, 2.5][index % 3];
        let point = |_| {
            let [x, y, z] = [0; 3].map(|_| random.uniform() - 0.5);
            [x * wide, y * wide, z]
        };
        Ok(Cloud::from_points((0..60).map(point).collect()))
    }
}

fn data(source: Shapes) -> Dataset {
    let record = |i: usize| TreeRecord {
        tree: format!("t{i}"),
        species: i % 3,
        plot: "p".into(),
        scan: Scan::Unknown,
        source: format!("cloud {i}"),
        inventory: None,
    };
    let species = ["a", "b", "c"].map(String::from).to_vec();
    let records = (0..40).map(record).collect();
    Dataset::new("shapes".into(), species, records, String::new(), Arc::new(source))
}

pub fn config(ranks: usize) -> Config {
    Config {
        ranks,
        model: Kind::Full,
        width: 16,
        points: 32,
        batch: 8,
        epochs: 10,
        workers: 1,
        rank_deadline: 20.0,
        ..Config::default()
    }
}

/// Small, therefore many, buckets, so that their order matters.
pub fn functions() -> RankFunctions {
    RankFunctions {
        sizes: BucketSizes {
            first: 1 << 10,
            others: 1 << 12,
        },
        rank_0_has_stalled: |_| {},
        ..RankFunctions::default()
    }
}

/// All records are trained on.
fn split() -> Split {
    Split {
        train: (0..40).collect(),
        ..Split::default()
    }
}

pub fn trainer(dir: &Path, config: Config, source: Shapes, functions: RankFunctions) -> Trainer {
    let folder = RunFolder::create(&dir.join(format!("run-{}", config.ranks))).unwrap();
    let device = device::choose("cpu").unwrap();
    let mut trainer = Trainer::new(config, data(source), split(), device, folder).unwrap();
    trainer.functions = functions;
    trainer
}

pub fn run(config: Config, source: Shapes, functions: RankFunctions) -> Result<Trainer> {
    let dir = tempfile::tempdir().unwrap();
    let mut trainer = trainer(dir.path(), config, source, functions);
    let outcome = trainer.run(&AtomicBool::new(false))?;
    assert_eq!(outcome, Outcome::Done);
    Ok(trainer)
}

/// Continues the run in `dir` to its end, with settings that `change` changes.
pub fn resumed(dir: &Path, change: impl FnOnce(&mut Config)) -> Result<Trainer> {
    let folder = RunFolder::open(dir)?;
    let mut checkpoint = checkpoint::load(&folder.last())?;
    change(&mut checkpoint.progress.config);
    let device = device::choose("cpu")?;
    let mut trainer = Trainer::resume(checkpoint, data(Shapes::default()), split(), device, folder)?;
    trainer.functions = functions();
    assert_eq!(trainer.run(&AtomicBool::new(false))?, Outcome::Done);
    Ok(trainer)
}

pub fn numbers(trainer: &Trainer, buffers: bool) -> Vec<f32> {
    let mut vars = trainer.model.params();
    if buffers {
        vars.extend(trainer.model.buffers());
    }
    let flat = |(_, var): (String, candle_core::Var)| var.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    vars.into_iter().flat_map(flat).collect()
}

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

/// Checks that a run ends with an error that has these `parts`.
pub fn fails(config: Config, source: Shapes, functions: RankFunctions, parts: &[&str]) {
    let message = match run(config, source, functions) {
        Ok(_) => panic!("expected an error"),
        Err(error) => format!("{error:#}"),
    };
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
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

/// The largest difference of an epoch's loss.
pub fn losses_off(a: &Trainer, b: &Trainer) -> f64 {
    assert_eq!(a.rows.len(), b.rows.len());
    let rows = a.rows.iter().zip(&b.rows);
    rows.map(|(a, b)| (a.train_loss - b.train_loss).abs())
        .fold(0.0, f64::max)
}

/// The largest difference of a number.
pub fn largest(a: &[f32], b: &[f32]) -> f32 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// The largest difference of a parameter.
pub fn parameters_off(a: &Trainer, b: &Trainer) -> f32 {
    largest(&numbers(a, false), &numbers(b, false))
}

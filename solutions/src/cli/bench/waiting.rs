//! How many clouds per second the loader returns, and how long training waits for batches.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use candle_core::{DType, Device};
use canopy_data::{Dataset, TreeRecord, builtin, shard};
use serde::Serialize;

use crate::cli::data::progress::Progress;
use crate::loader::{Collate, Loader};
use crate::model::{Kind, PointNet, PointNetConfig};
use crate::optim::OptimConfig;
use crate::train::{Loss, short::Learner};

#[derive(Debug, Serialize)]
pub struct Loading {
    pub workers: usize,
    pub clouds_per_second: f64,
}

#[derive(Debug, Serialize)]
pub struct Training {
    pub workers: usize,
    pub steps: usize,
    pub step_ms: f64,
    /// Fraction of the time that training waited for batches, including the first one.
    pub waited_share: f64,
}

/// Points per cloud of the shards, as in the built-in set.
pub const STORED: usize = 2048;

/// The batches over which times are measured.
#[derive(Clone, Copy, Debug)]
pub struct Batches {
    /// How many.
    pub steps: usize,
    /// Clouds per batch.
    pub size: usize,
}

/// Writes a data set of `clouds` equal clouds as shards.
pub fn write_set(home: &Path, clouds: usize, progress: &mut Progress) -> Result<Dataset> {
    let dir = home.join("set");
    let meta = shard::Meta {
        name: "bench".into(),
        species: ["even", "odd"].map(String::from).to_vec(),
        ..shard::Meta::default()
    };
    let mut writer = shard::Writer::create(&dir, meta)?;
    let tree = builtin::tree(1, 0, builtin::Resolution::Sampled(STORED))?;
    for i in 0..clouds {
        let record = TreeRecord {
            tree: format!("t{i}"),
            species: i % 2,
            source: "built in".into(),
            ..TreeRecord::default()
        };
        writer.push(&record, &tree)?;
        progress.at(i as u64, Some(clouds as u64))?;
    }
    writer.finish()?;
    shard::open(&dir)
}

/// The records of each batch; the set is repeated.
fn plan(collate: &Collate, batches: Batches) -> Vec<Vec<usize>> {
    let n = collate.data.len();
    let batch = |s: usize| (0..batches.size).map(|i| (s * batches.size + i) % n).collect();
    (0..batches.steps).map(batch).collect()
}

/// Measures the loader alone.
pub fn loading(
    collate: &Arc<Collate>,
    workers: usize,
    batches: Batches,
    progress: &mut Progress,
) -> Result<Loading> {
    let loader = Loader::new(collate.clone(), workers, 2);
    let start = Instant::now();
    for batch in loader.epoch(0, plan(collate, batches)) {
        batch?;
        progress.at(0, None)?;
    }
    let clouds = (batches.steps * batches.size) as f64;
    Ok(Loading {
        workers,
        clouds_per_second: clouds / start.elapsed().as_secs_f64(),
    })
}

/// Trains on the batches and measures the waiting.
pub fn training(collate: &Arc<Collate>, batches: Batches, progress: &mut Progress) -> Result<Training> {
    let workers = 4;
    let config = PointNetConfig {
        kind: Kind::Vanilla,
        classes: 2,
        ..PointNetConfig::default()
    };
    let model = PointNet::new(&config, &Device::Cpu, DType::F32, 1)?;
    let optimizer = OptimConfig::adamw().build(model.params())?;
    let mut learner = Learner {
        clip: 1.0,
        ..Learner::new(model, optimizer, Loss::CROSS_ENTROPY)
    };
    let loader = Loader::new(collate.clone(), workers, 2);
    let start = Instant::now();
    let mut epoch = loader.epoch(0, plan(collate, batches));
    for batch in epoch.by_ref() {
        let (points, labels) = batch?.to_device(&Device::Cpu)?;
        learner.step((&points, &labels), 1e-3)?;
        progress.at(learner.steps, Some(batches.steps as u64))?;
    }
    let all = start.elapsed().as_secs_f64();
    Ok(Training {
        workers,
        steps: batches.steps,
        step_ms: all / batches.steps as f64 * 1e3,
        waited_share: epoch.waited().as_secs_f64() / all,
    })
}

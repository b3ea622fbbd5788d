//! How fast the loader gives batches, and how long a training step waits for them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use candle_core::{DType, Device};
use canopy_data::{Dataset, Scan, TreeRecord, builtin, shard};
use serde::Serialize;

use super::data::Args;
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
    /// Share of the time that the trainer waited for batches, the first one's included.
    pub waited_share: f64,
}

/// Points of each cloud in the shard set, as many as the built-in set stores.
pub const STORED: usize = 2048;

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
            plot: String::new(),
            scan: Scan::Unknown,
            source: "built in".into(),
        };
        writer.push(&record, &tree)?;
        progress.at(i as u64, Some(clouds as u64))?;
    }
    writer.finish()?;
    shard::open(&dir)
}

/// `steps` batches over the whole set, again and again.
fn plan(collate: &Collate, args: &Args) -> Vec<Vec<usize>> {
    let n = collate.data.len();
    let batch = |s: usize| (0..args.batch).map(|i| (s * args.batch + i) % n).collect();
    (0..args.steps).map(batch).collect()
}

pub fn loading(
    collate: &Arc<Collate>,
    workers: usize,
    args: &Args,
    progress: &mut Progress,
) -> Result<Loading> {
    let loader = Loader::new(collate.clone(), workers, 2);
    let start = Instant::now();
    for batch in loader.epoch(0, plan(collate, args)) {
        batch?;
        progress.at(0, None)?;
    }
    let clouds = (args.steps * args.batch) as f64;
    Ok(Loading {
        workers,
        clouds_per_second: clouds / start.elapsed().as_secs_f64(),
    })
}

pub fn training(collate: &Arc<Collate>, args: &Args, progress: &mut Progress) -> Result<Training> {
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
    let mut batches = loader.epoch(0, plan(collate, args));
    for batch in batches.by_ref() {
        let (points, labels) = batch?.to_device(&Device::Cpu)?;
        learner.step((&points, &labels), 1e-3)?;
        progress.at(learner.steps, Some(args.steps as u64))?;
    }
    let all = start.elapsed().as_secs_f64();
    Ok(Training {
        workers,
        steps: args.steps,
        step_ms: all / args.steps as f64 * 1e3,
        waited_share: batches.waited().as_secs_f64() / all,
    })
}

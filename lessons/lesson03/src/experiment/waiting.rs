//! How fast batches come through exercise 3.5, and how long the trainer's step waits for them.

use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};
use candle_core::{DType, Device};
use canopy::{
    loader::{Batch, Collate},
    model::{Kind, PointNet, PointNetConfig},
    optim::OptimConfig,
    train::{Loss, short::Learner},
};
use lesson03::Lesson03;

use super::files::Files;

/// Threads and batches ahead that are tried; without threads each batch is made when it is wanted.
pub const POOLS: [(usize, usize); 5] = [(0, 0), (1, 1), (1, 2), (2, 4), (4, 8)];
/// Clouds of a batch.
const BATCH: usize = 4;
const BATCHES: usize = 8;

/// What one pool did with one format.
pub struct Row {
    pub format: &'static str,
    pub workers: usize,
    pub ahead: usize,
    /// Clouds a second.
    pub rate: f64,
    /// Share of the time that `take` was not called, as nothing was there.
    pub waited: f64,
}

/// Nothing is done with the batches.
pub fn rates(files: &Files, answer: &Lesson03) -> Result<Vec<Row>> {
    each(files, answer, BATCHES, |_| Ok(Box::new(|_| Ok(()))))
}

type Step = Box<dyn FnMut(Batch) -> Result<()>>;

/// Each batch is a training step of a PointNet.
pub fn waits(files: &Files, answer: &Lesson03) -> Result<Vec<Row>> {
    each(files, answer, BATCHES + BATCHES / 2, |collate| {
        let config = PointNetConfig {
            kind: Kind::Vanilla,
            classes: collate.data.species.len(),
            ..PointNetConfig::default()
        };
        let model = PointNet::new(&config, &Device::Cpu, DType::F32, 1)?;
        let optimizer = OptimConfig::adamw().build(model.params())?;
        let mut learner = Learner {
            clip: 1.0,
            ..Learner::new(model, optimizer, Loss::CROSS_ENTROPY)
        };
        Ok(Box::new(move |batch| {
            let (points, labels) = batch.to_device(&Device::Cpu)?;
            learner.step((&points, &labels), 1e-3).map(drop)
        }))
    })
}

fn each(
    files: &Files,
    answer: &Lesson03,
    count: usize,
    step: impl Fn(&Collate) -> Result<Step>,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (at, (format, _)) in files.paths.iter().enumerate() {
        let collate = files.collate(at, count * BATCH, answer);
        let order = (answer.epoch_order)(count * BATCH, 1, 0);
        let batches: Vec<&[usize]> = order.chunks(BATCH).collect();
        let make = |i: usize| collate.batch(batches[i], 0);
        for (workers, ahead) in POOLS {
            let mut step = step(&collate)?;
            // The first step of a model is slower than all that follow.
            step(make(0)?)?;
            let (mut waited, mut failed): (Duration, Option<Error>) = (Duration::ZERO, None);
            let began = Instant::now();
            let mut ready = began;
            let mut take = |batch: Result<Batch>| {
                waited += ready.elapsed();
                failed = batch.and_then(&mut step).err();
                ready = Instant::now();
                failed.is_none()
            };
            if workers == 0 {
                (0..count).all(|i| take(make(i)));
            } else {
                (answer.prefetched)(count, workers, ahead, &make, &mut take);
            }
            let all = began.elapsed().as_secs_f64();
            if let Some(error) = failed {
                bail!(error);
            }
            rows.push(Row {
                format,
                workers,
                ahead,
                rate: (count * BATCH) as f64 / all,
                waited: waited.as_secs_f64() / all,
            });
        }
    }
    Ok(rows)
}

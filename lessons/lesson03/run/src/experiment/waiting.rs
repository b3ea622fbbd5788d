//! How long the training step waits for the batches that exercise 3.5 loads.

use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use candle_core::Device;
use canopy::{
    loader::{Batch, Collate},
    model::{Kind, PointNetConfig},
};
use kit::table::{Table, fixed, json, left, percent};
use lesson03::Lesson03;

use super::{
    files::{Files, collate},
    learner,
};

/// Workers and prefetched batches that are tried. Without workers, each batch is loaded when it is needed.
const POOLS: [(usize, usize); 5] = [(0, 0), (1, 1), (1, 2), (2, 4), (4, 8)];
/// Clouds of a batch.
const BATCH: usize = 4;
const BATCHES: usize = 12;

/// The clouds a second, and the share of the time during which the trainer waits: a row for each format, a column for
/// each pool.
pub fn tables(files: &Files, answer: &Lesson03) -> Result<[Table; 2]> {
    let pools = POOLS.map(|(workers, ahead)| match workers {
        0 => "none".into(),
        _ => format!("{workers}, {ahead}"),
    });
    let rates = pools.clone().map(|pool| fixed(pool, 0));
    let mut rates = Table::new([left("clouds/s, training")].into_iter().chain(rates));
    let waits = pools.map(|pool| percent(pool, 0));
    let mut waits = Table::new([left("the trainer waits")].into_iter().chain(waits));
    for (format, path) in files {
        let collate = collate(path, BATCHES * BATCH);
        let (mut rate, mut wait) = (vec![json!(format)], vec![json!(format)]);
        for pool in POOLS {
            let (clouds, waited) = train(&collate, pool, answer)?;
            rate.push(json!(clouds));
            wait.push(json!(waited));
        }
        rates.row(rate);
        waits.row(wait);
    }
    Ok([rates, waits])
}

/// Takes a training step of a PointNet with each batch. Returns the clouds a second, and the share of the time during
/// which the trainer waited.
fn train(collate: &Collate, (workers, ahead): (usize, usize), answer: &Lesson03) -> Result<(f64, f64)> {
    let config = PointNetConfig {
        kind: Kind::Vanilla,
        classes: collate.data.species.len(),
        ..PointNetConfig::default()
    };
    let mut learner = learner(&config, &Device::Cpu, 1)?;
    let mut step = |batch: Batch| -> Result<()> {
        let (points, labels) = batch.to_device(&Device::Cpu)?;
        learner.step((&points, &labels), 1e-3).map(drop)
    };
    let order = (answer.epoch_order)(BATCHES * BATCH, 1, 0);
    let batches: Vec<&[usize]> = order.chunks(BATCH).collect();
    let make = |i: usize| collate.batch(batches[i], 0);
    // The first step of a model is slower than those after it.
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
        (0..BATCHES).all(|i| take(make(i)));
    } else {
        (answer.prefetched)(BATCHES, workers, ahead, &make, &mut take);
    }
    let all = began.elapsed().as_secs_f64();
    failed.map_or(Ok(()), Err)?;
    Ok(((BATCHES * BATCH) as f64 / all, waited.as_secs_f64() / all))
}

//! How fast exercise 3.5 loads batches, and how long the training step waits for them.

use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};
use candle_core::{DType, Device};
use canopy::{
    loader::{Batch, Collate},
    model::{Kind, PointNet, PointNetConfig},
    optim::OptimConfig,
    report::svg::{LinePlot, Series},
    train::{Loss, short::Learner},
};
use grader::table::{Cell, Column, Table, fixed, left, percent};
use lesson03::Lesson03;

use super::files::Files;

/// Workers and prefetched batches that are tried. Without workers, each batch is loaded when it is needed.
const POOLS: [(usize, usize); 5] = [(0, 0), (1, 1), (1, 2), (2, 4), (4, 8)];
/// Clouds of a batch.
const BATCH: usize = 4;
const BATCHES: usize = 8;

/// One pool and one file format.
pub struct Row {
    format: &'static str,
    workers: usize,
    ahead: usize,
    /// Clouds a second.
    rate: f64,
    /// Share of the time that the trainer waited for a batch.
    waited: f64,
}

/// Loads batches and drops them.
pub fn rates(files: &Files, answer: &Lesson03) -> Result<Vec<Row>> {
    each(files, answer, BATCHES, |_| Ok(Box::new(|_| Ok(()))))
}

type Step = Box<dyn FnMut(Batch) -> Result<()>>;

/// Takes a training step of a PointNet with each batch.
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

/// A row for each format, a column for each pool.
fn table(heading: &str, rows: &[Row], column: fn(String) -> Column, value: fn(&Row) -> f64) -> Table {
    let pools = POOLS.map(|(workers, ahead)| match workers {
        0 => "none".into(),
        _ => format!("{workers}, {ahead}"),
    });
    let mut table = Table::new([left(heading)].into_iter().chain(pools.map(column)));
    for row in rows.chunk_by(|a, b| a.format == b.format) {
        let cells = row.iter().map(|r| Cell::from(value(r)));
        table.row([row[0].format.into()].into_iter().chain(cells).collect());
    }
    table
}

pub fn rate_table(heading: &str, rows: &[Row]) -> Table {
    table(heading, rows, |pool| fixed(pool, 0), |r| r.rate)
}

pub fn wait_table(heading: &str, rows: &[Row]) -> Table {
    table(heading, rows, |pool| percent(pool, 0), |r| r.waited)
}

/// Rates and waiting times against the number of workers, with two batches prefetched for each worker.
pub fn plots(rates: &[Row], waits: &[Row]) -> [(&'static str, LinePlot); 2] {
    let lines = |mut plot: LinePlot, rows: &[Row], y: fn(&Row) -> f64| {
        for row in rows.chunk_by(|a, b| a.format == b.format) {
            let points = row.iter().filter(|r| r.ahead == 2 * r.workers);
            let points = points.map(|r| (r.workers as f64, y(r))).collect();
            plot = plot.with(Series::new(row[0].format, points));
        }
        plot.for_the_book().ticks_at([0.0, 1.0, 2.0, 4.0])
    };
    let mut rate = LinePlot::new("Loading alone", "workers", "clouds per second");
    rate = lines(rate, rates, |r| r.rate);
    rate.log_y = true;
    let mut wait = LinePlot::new("The trainer waits", "workers", "share of the time");
    wait = lines(wait, waits, |r| r.waited);
    (wait.percent, wait.y_range) = (true, Some((0.0, 1.0)));
    [("03-rates.svg", rate), ("03-waiting.svg", wait)]
}

//! Clouds per second against batch size, on every device of this machine: with the loss read in each step, and once.

use std::time::Instant;

use anyhow::Result;
use candle_core::Error;
use canopy::{
    report::svg::{LinePlot, Series},
    train::OnDevice,
};
use grader::{
    cells,
    table::{Table, count, fixed, left},
};
use lesson04::Lesson04;

use super::bench::{Bench, Devices};

/// Points of a cloud.
pub const POINTS: usize = 256;
/// Batch sizes.
const BATCHES: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Steps of a measurement.
const STEPS: usize = 3;
/// Measurements of each.
const ROUNDS: usize = 6;

/// Clouds per second at one batch size on one device.
pub struct Speed {
    device: String,
    batch: usize,
    /// With the loss read in each step.
    waiting: f64,
    /// With the loss read once, by exercise 4.5.
    free: f64,
}

/// Measures one device after the other. All batch sizes take turns and the best time of each counts, so that a busy moment
/// of the machine does not fall on one size alone.
pub fn measure(answer: &Lesson04, devices: &Devices) -> Result<Vec<Speed>> {
    let mut found = Vec::new();
    for (name, device) in &devices.all {
        let mut bench = Bench::new(1, false, device)?;
        let mut best = vec![[f64::INFINITY; 2]; BATCHES.len()];
        for round in 0..=ROUNDS {
            for (&batch, best) in BATCHES.iter().zip(&mut best) {
                let (points, labels) = bench.batch(batch, POINTS)?;
                for (way, best) in best.iter_mut().enumerate() {
                    let start = Instant::now();
                    let mut steps = (0..STEPS).map(|_| {
                        let loss = bench.step(answer, (&points, &labels));
                        let loss = OnDevice::new(&loss.map_err(|e| Error::Msg(format!("{e:#}")))?)?;
                        if way == 0 {
                            loss.read()?;
                        }
                        Ok((loss, batch as u64))
                    });
                    (answer.mean_loss)(&mut steps)?;
                    // The first round warms up.
                    if round > 0 {
                        *best = best.min(start.elapsed().as_secs_f64());
                    }
                }
            }
        }
        for (&batch, best) in BATCHES.iter().zip(best) {
            let [waiting, free] = best.map(|seconds| (STEPS * batch) as f64 / seconds);
            found.push(Speed {
                device: name.clone(),
                batch,
                waiting,
                free,
            });
        }
    }
    Ok(found)
}

pub fn table(speeds: &[Speed]) -> Table {
    let mut table = Table::new([
        left("device"),
        count("batch"),
        fixed("loss read each step", 0),
        fixed("loss read once", 0),
    ]);
    for s in speeds {
        table.row(cells![&s.device, s.batch, s.waiting, s.free]);
    }
    table
}

pub fn plot(speeds: &[Speed]) -> LinePlot {
    let mut plot = LinePlot::new("A training step", "batch size", "clouds per second");
    for of in speeds.chunk_by(|a, b| a.device == b.device) {
        let points = of.iter().map(|s| (s.batch as f64, s.free)).collect();
        plot = plot.with(Series::new(of[0].device.clone(), points));
    }
    (plot.log_x, plot.y_range) = (true, Some((0.0, 1.0)));
    plot.for_the_book().ticks_at(BATCHES.map(|b| b as f64))
}

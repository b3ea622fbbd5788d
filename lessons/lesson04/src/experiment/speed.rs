//! Clouds a second against batch size, on every device there is; with a wait in each step, and with one in all.

use std::time::Instant;

use anyhow::Result;
use candle_core::Error;
use canopy::train::OnDevice;
use lesson04::Lesson04;

use super::pieces::{Bench, Devices};

/// Points of a cloud.
pub const POINTS: usize = 256;
/// Batch sizes.
pub const BATCHES: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Steps of a measurement.
const STEPS: usize = 4;

/// Clouds a second of one batch size on one device.
pub struct Speed {
    pub device: String,
    pub batch: usize,
    /// The loss read in each step.
    pub waiting: f64,
    /// Read once, by exercise 4.5.
    pub free: f64,
}

pub fn measure(answer: &Lesson04, devices: &Devices) -> Result<Vec<Speed>> {
    let mut found = Vec::new();
    for (name, device) in &devices.all {
        let mut bench = Bench::new(1, false, device)?;
        for batch in BATCHES {
            let (points, labels) = bench.batch(batch, POINTS)?;
            let mut best = [f64::INFINITY; 2];
            // In turn, so that neither has the quieter machine; the first round warms up.
            for round in 0..3 {
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
                    if round > 0 {
                        *best = best.min(start.elapsed().as_secs_f64());
                    }
                }
            }
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

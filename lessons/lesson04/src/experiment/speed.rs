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
const STEPS: usize = 3;
/// Measurements of each.
const ROUNDS: usize = 6;

/// Clouds a second of one batch size on one device.
pub struct Speed {
    pub device: String,
    pub batch: usize,
    /// The loss read in each step.
    pub waiting: f64,
    /// Read once, by exercise 4.5.
    pub free: f64,
}

/// One device after the other; on each all batch sizes in turn, again and again, and of each the best: so none has the quieter
/// machine.
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

//! Loss and accuracy of an epoch, read from the device only on request.

use anyhow::{Result, bail};
use candle_core::Tensor;

use super::OnDevice;
use crate::profile;

/// What the error of a run that diverged contains.
pub const DIVERGED: &str = "training diverged";

/// Replaces numbers by their sums over all ranks; with one rank it leaves them as they are.
pub type SumOver<'a> = &'a mut dyn FnMut(&mut [f64]) -> Result<()>;

/// What one micro-batch adds to an epoch's loss and accuracy, not read yet.
#[derive(Debug)]
pub struct Figures {
    /// Mean loss, a scalar on the device.
    pub loss: Tensor,
    /// Clouds classified correctly, a scalar on the device.
    pub correct: Tensor,
    /// Clouds.
    pub clouds: u64,
    /// What the loss is multiplied by in the epoch's sum: the clouds, unless several ranks share a weighted batch.
    pub weight: f64,
}

/// Running sums of an epoch. Values stay on the device until [`Running::read`], so that no step waits.
#[derive(Debug, Default)]
pub struct Running {
    /// Sum of loss × clouds over what was read.
    pub loss_sum: f64,
    /// Clouds classified correctly, of what was read.
    pub correct: u64,
    /// Clouds seen, of what was read.
    pub seen: u64,
    values: Vec<OnDevice>,
    /// Clouds and weight of each pending micro-batch, and whether its step was taken.
    pending: Vec<(u64, f64, bool)>,
}

impl Running {
    /// Adds a micro-batch without waiting for the device. `taken` says whether the optimizer stepped: where a gradient
    /// overflowed, a loss that is not finite is no sign of divergence and does not count.
    ///
    /// # Errors
    /// Returns an error if loss or correct predictions are not one number each.
    pub fn push(&mut self, figures: &Figures, taken: bool) -> Result<()> {
        self.values.push(OnDevice::new(&figures.loss)?);
        self.values.push(OnDevice::new(&figures.correct)?);
        self.pending.push((figures.clouds, figures.weight, taken));
        Ok(())
    }

    /// Reads what is pending, in one wait, and sums it over the ranks by `sum`. Adds in the order of the steps, so the
    /// result does not depend on how often it is read. Every rank calls it after the same step.
    ///
    /// # Errors
    /// Returns an error if the loss of a step that was taken is not finite; candle's; those of `sum`.
    pub fn read(&mut self, sum: SumOver) -> Result<()> {
        let _span = profile::span("read figures", profile::Kind::Wait);
        let read = OnDevice::read_all(&self.values)?;
        self.values.clear();
        let mut parts: Vec<f64> = Vec::with_capacity(3 * self.pending.len());
        for (values, (clouds, weight, _)) in read.chunks_exact(2).zip(&self.pending) {
            parts.extend([values[0] * weight, values[1], *clouds as f64]);
        }
        sum(&mut parts)?;
        for (part, (_, _, taken)) in parts.chunks_exact(3).zip(self.pending.drain(..)) {
            if part[0].is_finite() {
                self.loss_sum += part[0];
                self.correct += part[1] as u64;
                self.seen += part[2] as u64;
            } else if taken {
                bail!(
                    "the loss became {}: {DIVERGED}. Resume from the last checkpoint with a lower --learning-rate or with \
                     --clip 1",
                    part[0] / part[2]
                );
            }
        }
        Ok(())
    }

    /// Mean loss of what was read.
    pub fn loss(&self) -> f64 {
        self.loss_sum / self.seen.max(1) as f64
    }

    /// Share of clouds classified correctly, of what was read.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.seen.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    fn figures(loss: f32, correct: f32) -> Figures {
        let number = |v: f32| Tensor::new(v, &Device::Cpu).unwrap();
        Figures {
            loss: number(loss),
            correct: number(correct),
            clouds: 4,
            weight: 4.0,
        }
    }

    #[test]
    fn adding_steps_does_not_wait_and_reading_waits_once() {
        let mut running = Running::default();
        let before = OnDevice::waits();
        for step in 0..50u8 {
            let figures = figures(f32::from(step) / 7.0, f32::from(step % 3));
            running.push(&figures, true).unwrap();
        }
        assert_eq!(OnDevice::waits(), before);
        running.read(&mut |_| Ok(())).unwrap();
        assert_eq!(OnDevice::waits(), before + 1);
        let sum: f64 = (0..50u8).map(|step| f64::from(f32::from(step) / 7.0) * 4.0).sum();
        assert_eq!((running.loss_sum, running.correct, running.seen), (sum, 49, 200));
        running.read(&mut |_| Ok(())).unwrap();
        assert_eq!(OnDevice::waits(), before + 1, "nothing was pending");
    }

    #[test]
    fn a_loss_that_is_not_finite_ends_the_run_unless_its_step_was_skipped() {
        let mut running = Running::default();
        running.push(&figures(f32::INFINITY, 1.0), false).unwrap();
        running.push(&figures(2.0, 1.0), false).unwrap();
        running.read(&mut |_| Ok(())).unwrap();
        assert_eq!((running.loss(), running.seen), (2.0, 4));
        running.push(&figures(f32::NAN, 0.0), true).unwrap();
        let error = running.read(&mut |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("training diverged"), "{error}");
    }
}

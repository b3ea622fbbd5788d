//! The lines of `--steps-per-print` and `--wall-clock-breakdown`.

use std::time::Instant;

use candle_core::Device;

use super::Config;
use crate::profile::Breakdown;

/// Prints a line every N steps.
pub struct StepLines {
    every: u64,
    breakdown: Option<Breakdown>,
    /// When the last line was printed, and after which step.
    last: (Instant, u64),
}

/// What a line reports.
pub struct StepLine {
    /// Steps of the run so far.
    pub step: u64,
    /// Steps of the epoch so far that were skipped because a gradient overflowed.
    pub skipped: u64,
    /// The learning rate of the last step.
    pub rate: f64,
    /// Mean loss of the epoch so far.
    pub loss: f64,
}

impl StepLines {
    /// The lines of a run on `device` that has done `done` steps; with `--steps-per-print 0`, the parts' times are printed at
    /// the end of each epoch of `epoch` steps.
    pub fn new(config: &Config, device: &Device, (done, epoch): (u64, u64)) -> Self {
        let breakdown = config.wall_clock_breakdown.then(|| Breakdown::start(device));
        Self {
            every: match (config.steps_per_print, &breakdown) {
                (0, Some(_)) => epoch,
                (every, _) => every,
            },
            breakdown,
            last: (Instant::now(), done),
        }
    }

    /// Whether a line is due after step `step`, counted from 1.
    pub fn due(&self, step: u64) -> bool {
        self.every > 0 && step.is_multiple_of(self.every)
    }

    /// Returns the line.
    pub fn text(&mut self, line: &StepLine) -> String {
        let StepLine {
            step,
            skipped,
            rate,
            loss,
        } = line;
        let skipped = match skipped {
            0 => String::new(),
            n => format!(", {n} skipped in this epoch"),
        };
        let mut text =
            format!("step {step}{skipped}: learning rate {rate:.4e}, mean loss of the epoch {loss:.4}");
        let steps = (step - self.last.1).max(1) as f64;
        if let Some(breakdown) = &self.breakdown {
            let mut other = self.last.0.elapsed().as_secs_f64();
            for (name, seconds) in breakdown.take() {
                other -= seconds;
                text += &format!(", {name} {:.2} ms", 1e3 * seconds / steps);
            }
            text += &format!(", other {:.2} ms a step", 1e3 * other / steps);
        }
        self.last = (Instant::now(), *step);
        text
    }
}

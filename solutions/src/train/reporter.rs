//! What a run shows and writes while it trains, besides checkpoints and metrics: a bar on a terminal, otherwise a line per
//! epoch; the lines of `--steps-per-print`; and TensorBoard's events.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{EpochRow, Running, Target, Trainer, tensorboard::EventWriter};

/// How often the bar reads loss and accuracy back from the device.
const EVERY: Duration = Duration::from_millis(500);

/// The reports of rank 0. Lines go to standard error, because standard output may be JSON.
pub struct Reporter {
    bar: ProgressBar,
    epochs: usize,
    target: Target,
    /// A line is printed every N steps; 0: never.
    every: u64,
    events: EventWriter,
    last_read: Instant,
    /// The last score on the validation set.
    validated: String,
}

impl Reporter {
    /// The reports of `trainer`'s run, from its next step on.
    ///
    /// # Errors
    /// Returns an error if the file with events cannot be created.
    pub fn new(trainer: &Trainer) -> Result<Self> {
        let Trainer { config, progress, .. } = trainer;
        let all = trainer.steps_per_epoch() * config.epochs as u64;
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr_with_hz(5))
            .with_position(progress.step);
        bar.set_style(style("{prefix} {bar:10.green} {percent:>3}% {msg} · {eta} left"));
        bar.reset_eta();
        Ok(Self {
            bar,
            epochs: config.epochs,
            target: config.target,
            every: config.steps_per_print,
            events: EventWriter::create(trainer.folder.path())?,
            last_read: Instant::now(),
            validated: String::new(),
        })
    }

    /// What the share of correct predictions is called: on the bar, in a line and in TensorBoard.
    fn share(&self) -> [&'static str; 3] {
        match self.target {
            Target::Species => ["acc", "accuracy", "accuracy/train"],
            _ => ["in half", "in the central half", "in_central_half/train"],
        }
    }

    /// Call after each step of epoch `epoch`; `step` are done. Returns whether loss and accuracy are needed.
    pub fn needs_figures(&mut self, epoch: usize, step: u64) -> bool {
        self.bar
            .set_prefix(format!("epoch {}/{}", epoch + 1, self.epochs));
        self.bar.inc(1);
        let due = std::io::stderr().is_terminal() && self.last_read.elapsed() > EVERY;
        if due {
            self.last_read = Instant::now();
        }
        due || self.line_is_due(step)
    }

    /// Shows the loss and accuracy of the epoch so far, at `rate` clouds per second.
    pub fn figures(&self, running: &Running, rate: f64) {
        self.bar.set_message(format!(
            "loss {:.3} {} {:.1}% {rate:.0}/s{}",
            running.loss(),
            self.share()[0],
            100.0 * running.accuracy(),
            self.validated
        ));
    }

    /// Whether a line is due after step `step`, counted from 1.
    pub fn line_is_due(&self, step: u64) -> bool {
        self.every > 0 && step.is_multiple_of(self.every)
    }

    /// Prints a line above the bar: learning rate `rate` of the last step, and `loss` of the epoch so far. `skipped` steps of the
    /// epoch overflowed.
    pub fn line(&self, step: u64, skipped: u64, rate: f64, loss: f64) {
        let skipped = match skipped {
            0 => String::new(),
            n => format!(", {n} skipped in this epoch"),
        };
        self.bar.suspend(|| {
            note!("step {step}{skipped}: learning rate {rate:.4e}, mean loss of the epoch {loss:.4}");
        });
    }

    /// Shows a row of the metrics, and writes its events.
    ///
    /// # Errors
    /// Returns an error if the file of events cannot be written.
    pub fn epoch(&mut self, row: &EpochRow) -> Result<()> {
        let mut validated = String::new();
        if let Some(share) = row.val_balanced {
            self.validated = format!(" val {:.1}%", 100.0 * share);
            validated = format!(", validation {:.1} % balanced", 100.0 * share);
        }
        if let Some(crps) = row.val_crps {
            self.validated = format!(" val CRPS {crps:.3}");
            validated = format!(", validation CRPS {crps:.3}");
        }
        if let Some(scale) = row.loss_scale {
            validated += &format!(", loss scale {scale}");
        }
        if row.left_out > 0 {
            validated += &format!(", {} steps skipped", row.left_out);
        }
        if !std::io::stderr().is_terminal() {
            note!(
                "epoch {}/{}: loss {:.3}, {} {:.1} %{validated}, {:.0} clouds/s, {:.1} s",
                row.epoch,
                self.epochs,
                row.train_loss,
                self.share()[1],
                100.0 * row.train_accuracy,
                row.clouds_per_second,
                row.seconds
            );
        }
        let values = [
            ("loss/train", Some(row.train_loss)),
            ("loss/validation", row.val_loss),
            (self.share()[2], Some(row.train_accuracy)),
            ("accuracy/validation", row.val_accuracy),
            ("balanced_accuracy/validation", row.val_balanced),
            ("crps/validation", row.val_crps),
            ("mean_absolute_error/validation", row.val_error),
            ("learning_rate", Some(row.learning_rate)),
            ("clouds_per_second", Some(row.clouds_per_second)),
            ("loss_scale", row.loss_scale),
        ];
        let known = values
            .into_iter()
            .filter_map(|(tag, value)| Some((tag, value? as f32)));
        self.events.scalars(row.step, &known.collect::<Vec<_>>())
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar over `total` items, shown on a terminal only.
pub fn bar(total: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(total).with_message(what.to_owned());
    bar.set_style(style("{msg} {bar:24.green} {pos}/{len} · {eta} left"));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸─")
}

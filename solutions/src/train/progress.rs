//! Progress of a run: a bar on a terminal, otherwise one line per epoch.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{EpochRow, Target};

/// How often the bar reads loss and accuracy back from the device.
const EVERY: Duration = Duration::from_millis(500);

/// The progress display of a run.
pub struct Display {
    bar: ProgressBar,
    epochs: usize,
    /// What the share of correct predictions is called, in short and in full.
    share: [&'static str; 2],
    last_read: Instant,
    validated: String,
}

impl Display {
    /// A display for `steps` steps in `epochs` epochs, after `done` steps, of a run that predicts `target`.
    pub fn new(steps: u64, epochs: usize, done: u64, target: Target) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(5))
            .with_position(done);
        bar.set_style(style("{prefix} {bar:10.green} {percent:>3}% {msg} · {eta} left"));
        bar.reset_eta();
        Self {
            bar,
            epochs,
            share: match target {
                Target::Species => ["acc", "accuracy"],
                _ => ["in half", "in the central half"],
            },
            last_read: Instant::now(),
            validated: String::new(),
        }
    }

    /// Call after a step. Returns true if it is time to call [`Self::figures`].
    pub fn step(&mut self, epoch: usize) -> bool {
        self.bar
            .set_prefix(format!("epoch {}/{}", epoch + 1, self.epochs));
        self.bar.inc(1);
        let due = std::io::stderr().is_terminal() && self.last_read.elapsed() > EVERY;
        if due {
            self.last_read = Instant::now();
        }
        due
    }

    /// Shows loss, accuracy and clouds per second of the current epoch.
    pub fn figures(&self, loss: f64, accuracy: f64, rate: f64) {
        self.bar.set_message(format!(
            "loss {loss:.3} {} {:.1}% {rate:.0}/s{}",
            self.share[0],
            100.0 * accuracy,
            self.validated
        ));
    }

    /// Prints a line above the bar.
    pub fn line(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    /// Call after an epoch. Lines go to standard error, because standard output may be JSON.
    pub fn epoch(&mut self, row: &EpochRow) {
        if let Some(v) = row.val_balanced {
            self.validated = format!(" val {:.1}%", 100.0 * v);
        }
        if let Some(crps) = row.val_crps {
            self.validated = format!(" val CRPS {crps:.3}");
        }
        let species = row
            .val_balanced
            .map(|v| format!(", validation {:.1} % balanced", 100.0 * v));
        let number = row.val_crps.map(|v| format!(", validation CRPS {v:.3}"));
        let val = species.or(number).unwrap_or_default();
        let scale = row.loss_scale.map(|scale| match row.left_out {
            0 => format!(", loss scale {scale}"),
            n => format!(", loss scale {scale}, {n} steps skipped"),
        });
        let scale = scale.unwrap_or_default();
        if !std::io::stderr().is_terminal() {
            eprintln!(
                "epoch {}/{}: loss {:.3}, {} {:.1} %{val}{scale}, {:.0} clouds/s, {:.1} s",
                row.epoch,
                self.epochs,
                row.train_loss,
                self.share[1],
                100.0 * row.train_accuracy,
                row.clouds_per_second,
                row.seconds
            );
        }
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

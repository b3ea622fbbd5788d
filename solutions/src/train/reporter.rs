//! What a run shows and writes while it trains, besides checkpoints and metrics: the bar, lines and TensorBoard's events.

use anyhow::Result;

use super::{
    Display, EpochRow, Running, Target, Trainer,
    step_lines::{StepLine, StepLines},
    tensorboard::EventWriter,
};

/// The reports of rank 0.
pub struct Reporter {
    display: Display,
    lines: StepLines,
    events: EventWriter,
    target: Target,
}

impl Reporter {
    /// The reports of `trainer`'s run, from its next step on.
    ///
    /// # Errors
    /// Returns an error if the file with events cannot be created.
    pub fn new(trainer: &Trainer) -> Result<Self> {
        let Trainer { config, progress, .. } = trainer;
        let steps = trainer.steps_per_epoch();
        let all = steps * config.epochs as u64;
        Ok(Self {
            display: Display::new(all, config.epochs, progress.step, config.target),
            lines: StepLines::new(config, trainer.device(), (progress.step, steps)),
            events: EventWriter::create(trainer.folder.path())?,
            target: config.target,
        })
    }

    /// Call after each step of epoch `epoch`; `step` are done. Returns whether loss and accuracy are needed.
    pub fn needs_figures(&mut self, epoch: usize, step: u64) -> bool {
        // The display counts the steps.
        let due = self.display.step(epoch);
        due || self.line_is_due(step)
    }

    /// Shows the loss and accuracy of the epoch so far, at `rate` clouds per second.
    pub fn figures(&self, running: &Running, rate: f64) {
        self.display.figures(running.loss(), running.accuracy(), rate);
    }

    /// Whether a line is due after step `step`.
    pub fn line_is_due(&self, step: u64) -> bool {
        self.lines.due(step)
    }

    /// Prints a line.
    pub fn line(&mut self, line: &StepLine) {
        let text = self.lines.text(line);
        self.display.line(&text);
    }

    /// Shows a row of the metrics.
    pub fn epoch(&mut self, row: &EpochRow) {
        self.display.epoch(row);
    }

    /// Writes the events of a row of the metrics.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write_events(&mut self, row: &EpochRow) -> Result<()> {
        let share = match self.target {
            Target::Species => "accuracy/train",
            _ => "in_central_half/train",
        };
        let values = [
            ("loss/train", Some(row.train_loss)),
            ("loss/validation", row.val_loss),
            (share, Some(row.train_accuracy)),
            ("accuracy/validation", row.val_accuracy),
            ("balanced_accuracy/validation", row.val_balanced),
            ("crps/validation", row.val_crps),
            ("mean_absolute_error/validation", row.val_error),
            ("learning_rate", Some(row.learning_rate)),
            ("clouds_per_second", Some(row.clouds_per_second)),
            ("loss_scale", row.loss_scale),
        ];
        for (tag, value) in values {
            if let Some(value) = value {
                self.events.scalar_now(tag, row.step, value as f32)?;
            }
        }
        self.events.flush()
    }

    /// Ends the bar.
    pub fn finish(&self) {
        self.display.finish();
    }
}

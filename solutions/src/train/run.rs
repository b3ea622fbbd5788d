//! The run loop: epochs, evaluation, checkpoints.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use candle_core::{DType, Tensor};

use super::{Display, Loss, Running, Trainer, accumulated_step, checkpoint, remaining, scaled_step};
use crate::{
    kernels::Pass,
    loader::{Batch, Collate, Loader, micro_batches},
    precision::LossScale,
    profile::{self, Kind},
    report::{EpochRow, tensorboard::EventWriter},
};

/// How a call of [`Trainer::run`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs are done.
    Done,
    /// It was asked to stop; the checkpoint says where to go on.
    Stopped,
}

impl Trainer {
    /// Trains to the end, or until `stop` is set: then the state is saved in the middle of the epoch.
    ///
    /// # Errors
    /// Whatever broke; the last checkpoint stands.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<Outcome> {
        let collate = Collate {
            data: self.data.clone(),
            points: self.config.points,
            frame: self.config.frame,
            features: self.config.features,
            augment: self.config.augment(),
            seed: self.config.seed,
        };
        let mut loader = Loader::new(Arc::new(collate), self.config.workers, self.config.prefetch)?;
        let loss = self.loss()?;
        let steps = self.steps_per_epoch();
        let mut events = EventWriter::create(self.folder.path())?;
        let mut display = Display::new(
            steps * self.config.epochs as u64,
            self.config.epochs,
            self.progress.step,
        );
        self.clock = Instant::now();
        while self.progress.epoch < self.config.epochs {
            if self.epoch(&mut loader, &loss, &mut display, stop)? == Outcome::Stopped {
                display.finish();
                return Ok(Outcome::Stopped);
            }
            if let Some(row) = self.rows.last() {
                write_events(&mut events, row)?;
            }
        }
        display.finish();
        Ok(Outcome::Done)
    }

    fn loss(&self) -> Result<Loss> {
        let class_weights = if self.config.class_weights {
            let weights = canopy_data::split::class_weights(&self.training_counts());
            Some(Tensor::from_vec(weights, self.data.species.len(), &self.device)?)
        } else {
            None
        };
        let (smoothing, orthogonality) = (self.config.smoothing, self.config.orthogonality);
        Ok(Loss {
            smoothing,
            class_weights,
            orthogonality,
        })
    }

    fn epoch(
        &mut self,
        loader: &mut Loader,
        loss: &Loss,
        display: &mut Display,
        stop: &AtomicBool,
    ) -> Result<Outcome> {
        let epoch = self.progress.epoch;
        let start = Instant::now();
        let todo = match self.todo.take() {
            Some(taken_up) => taken_up,
            None => {
                let size = self.config.batch * self.config.accumulate;
                let at = (epoch, self.progress.batch);
                remaining(&self.split.train, size, self.config.seed, at)?
            }
        };
        let clouds: usize = todo.iter().map(Vec::len).sum();
        let todo: Vec<Vec<Vec<usize>>> = todo
            .iter()
            .map(|batch| micro_batches(batch, self.config.batch))
            .collect();
        let mut parts = todo.iter().map(Vec::len);
        let mut micro = Vec::new();
        let mut wanted = parts.next();
        let mut incoming = loader.epoch(epoch as u64, todo.concat());
        while let Some(batch) = profile::timed("next batch", Kind::Load, || incoming.next()) {
            micro.push(batch?);
            if Some(micro.len()) != wanted {
                continue;
            }
            self.step(&micro, loss)?;
            micro.clear();
            wanted = parts.next();
            if display.step(epoch) {
                self.running.read()?;
                let rate = self.running.seen as f64 / start.elapsed().as_secs_f64();
                display.figures(self.running.loss(), self.running.accuracy(), rate);
            }
            if stop.load(Ordering::Relaxed) {
                self.save()?;
                return Ok(Outcome::Stopped);
            }
            if self.last_save.elapsed() > Duration::from_secs_f64(self.config.checkpoint_seconds) {
                self.save()?;
            }
        }
        self.running.read()?;
        let trained = start.elapsed().as_secs_f64();
        self.end_epoch(start, clouds as f64 / trained, display)?;
        Ok(Outcome::Done)
    }

    /// One optimizer step over the micro-batches of a batch; mostly it is one.
    fn step(&mut self, micro: &[Batch], loss: &Loss) -> Result<()> {
        let step = self.progress.step;
        let _span = profile::span("step", Kind::Other);
        let copying = profile::span("to device", Kind::Copy);
        let tensors = micro
            .iter()
            .map(|batch| batch.to_device(&self.device))
            .collect::<Result<Vec<_>>>()?;
        drop(copying);
        // Counted on, so that each micro-batch draws its own dropout; with one a step it is the step.
        let (config, lowering) = (&self.config, &self.lowering);
        let pass = |i: usize| {
            let count = step * config.accumulate as u64 + i as u64;
            Pass::train(config.seed, count)
                .plain(config.plain)
                .lowered(lowering.clone())
        };
        let rate = self.learning_rate(step)?;
        let (model, optimizer, clip) = (&self.model, &mut *self.optimizer, self.config.clip);
        let (figures, taken) = match &mut self.scaler {
            None => (
                accumulated_step(model, optimizer, &tensors, loss, &pass, rate, clip)?,
                true,
            ),
            Some(scaler) => {
                let done = scaled_step(model, optimizer, &tensors, loss, &pass, rate, clip, scaler)?;
                (done.figures, done.taken)
            }
        };
        for ((value, correct), batch) in figures.into_iter().zip(micro) {
            // A step that was left out may have a loss that is no number; that is no sign of a run come apart.
            if taken || value.to_dtype(DType::F32)?.to_scalar::<f32>()?.is_finite() {
                self.running.push(value, correct, batch.labels.len() as u64)?;
            }
        }
        self.progress.left_out.0 += u64::from(!taken);
        self.progress.left_out.1 += u64::from(!taken);
        self.progress.step += 1;
        self.progress.batch += 1;
        Ok(())
    }

    fn learning_rate(&self, step: u64) -> Result<f64> {
        let steps = self.steps_per_epoch();
        let total = steps * self.config.epochs as u64;
        let schedule = self.config.schedule()?;
        schedule.rate(step, steps, total, self.config.learning_rate)
    }

    /// Evaluates if due, writes the row down, keeps the best weights, saves.
    fn end_epoch(&mut self, start: Instant, clouds_per_second: f64, display: &mut Display) -> Result<()> {
        let done = self.progress.epoch + 1;
        let last = done == self.config.epochs;
        let mut row = EpochRow {
            epoch: done,
            step: self.progress.step,
            learning_rate: self.learning_rate(self.progress.step.saturating_sub(1))?,
            train_loss: self.running.loss(),
            train_accuracy: self.running.accuracy(),
            seconds: 0.0,
            clouds_per_second,
            loss_scale: self.scaler.as_ref().map(|s| s.rule().scale()),
            left_out: self.progress.left_out.0,
            ..EpochRow::default()
        };
        let due = last || done.is_multiple_of(self.config.evaluate_every);
        if due && !self.split.validation.is_empty() {
            let _span = profile::span("evaluate", Kind::Other);
            let validation = self.split.validation.clone();
            let predictions = self.predict(&validation, 1, &mut |_| ())?;
            let scores = predictions.scores("validation", &self.data.species);
            row.val_loss = Some(scores.loss);
            row.val_accuracy = Some(scores.accuracy);
            row.val_balanced = Some(scores.balanced_accuracy);
        }
        self.progress.epoch = done;
        self.progress.batch = 0;
        self.progress.left_out.0 = 0;
        self.running = Running::default();
        self.keep_best(&row, last)?;
        row.seconds = start.elapsed().as_secs_f64();
        display.epoch(&row);
        self.folder.append(&row)?;
        self.rows.push(row);
        if last || self.last_save.elapsed() > Duration::from_secs_f64(self.config.checkpoint_seconds) {
            self.save()?;
        }
        Ok(())
    }

    /// Of equal epochs the later one is kept: it has learnt longer. Without validation plots the last is best.
    fn keep_best(&mut self, row: &EpochRow, last: bool) -> Result<()> {
        let score = match row.val_balanced {
            Some(score) => score,
            None if last && self.split.validation.is_empty() => 0.0,
            None => return Ok(()),
        };
        if self
            .progress
            .best
            .is_none_or(|(bits, _)| score >= f64::from_bits(bits))
        {
            let _span = profile::span("save", Kind::Other);
            self.progress.best = Some((score.to_bits(), row.epoch));
            checkpoint::save(&self.folder.best(), &self.progress, &self.weights()?, &[])?;
        }
        Ok(())
    }

    fn weights(&self) -> Result<Vec<(String, Tensor)>> {
        Ok(self.model.to_map()?.into_iter().collect())
    }

    fn save(&mut self) -> Result<()> {
        let _span = profile::span("save", Kind::Other);
        self.running.read()?;
        self.progress.loss_bits = self.running.loss_sum.to_bits();
        self.progress.correct = self.running.correct;
        self.progress.seen = self.running.seen;
        self.progress.scaler = self.scaler.as_ref().map(|s| s.rule().clone());
        self.progress.seconds += self.clock.elapsed().as_secs_f64();
        self.clock = Instant::now();
        checkpoint::save(
            &self.folder.last(),
            &self.progress,
            &self.weights()?,
            &self.optimizer.state()?,
        )?;
        self.last_save = Instant::now();
        Ok(())
    }
}

fn write_events(events: &mut EventWriter, row: &EpochRow) -> Result<()> {
    let values = [
        ("loss/train", Some(row.train_loss)),
        ("loss/validation", row.val_loss),
        ("accuracy/train", Some(row.train_accuracy)),
        ("accuracy/validation", row.val_accuracy),
        ("balanced_accuracy/validation", row.val_balanced),
        ("learning_rate", Some(row.learning_rate)),
        ("clouds_per_second", Some(row.clouds_per_second)),
        ("loss_scale", row.loss_scale),
    ];
    for (tag, value) in values {
        if let Some(value) = value {
            events.scalar_now(tag, row.step, value as f32)?;
        }
    }
    events.flush()
}

//! The run loop: epochs, evaluation, checkpoints.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use candle_core::Tensor;

use super::{
    Display, EpochRow, Loss, NumberLoss, Objective, Outcome, Replica, Running, StepInputs, Target, Trainer,
    checkpoint, plan,
    ranks::{Job, Requests},
    step_lines::{StepLine, StepLines},
    tensorboard::EventWriter,
};
use crate::{
    loader::{Collate, Loaded, Loader},
    precision::LossScale,
    profile::{self, Kind},
};

/// Steps after which loss and accuracy are read from a GPU even if nothing shows them, so that a run which diverged ends,
/// and few scalars are left there. Reading waits, so a smaller number would cost time.
const READ_EVERY: u64 = 100;

impl Trainer {
    /// Trains until all epochs are done or `stop` is set. If `stop` is set, saves a checkpoint in the middle of the epoch. If
    /// the ranks are processes ([`Trainer::join`]), only rank 0 writes to the run's folder.
    ///
    /// # Errors
    /// Returns an error if a cloud cannot be read, training diverges, a rank fails or a file cannot be written. The last
    /// checkpoint remains.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<Outcome> {
        let mut job = match (self.links.take(), self.config.ranks) {
            (Some(links), _) if links.control.rank() > 0 => return self.follow(links, stop),
            (None, 1) => None,
            (links, _) => Some(Job::start(self, links)?),
        };
        let result = self
            .share_optimizer(job.as_ref())
            .and_then(|()| self.epochs(stop, &mut job));
        match job {
            Some(job) => {
                let stats = job.member.stats(&*self.optimizer);
                let result = job.end(result)?;
                self.rank_stats = stats?;
                Ok(result)
            }
            None => result,
        }
    }

    /// Keeps only rank 0's part of the optimizer's state, if the ranks share it.
    fn share_optimizer(&mut self, job: Option<&Job>) -> Result<()> {
        if let Some(job) = job {
            let whole = || Ok(self.optimizer.state()?.into_iter().collect());
            if let Some(own) = job.member.own_optimizer(whole)? {
                self.optimizer = own;
            }
        }
        Ok(())
    }

    /// Returns how training records become batches.
    pub(super) fn train_collate(&self) -> Collate {
        self.config.collate(self.data.clone())
    }

    fn epochs(&mut self, stop: &AtomicBool, job: &mut Option<Job>) -> Result<Outcome> {
        let collate = Arc::new(self.train_collate());
        let loader =
            Loader::new(collate, self.config.workers, self.config.prefetch).ahead_on(&self.device)?;
        let loss = self.objective()?;
        let inputs = self.step_inputs(job.as_ref().map(|job| job.member.share()));
        let steps = self.steps_per_epoch();
        let mut events = EventWriter::create(self.folder.path())?;
        let mut display = Display::new(
            steps * self.config.epochs as u64,
            self.config.epochs,
            self.progress.step,
            self.config.target,
        );
        let mut lines = StepLines::new(&self.config, &self.device, (self.progress.step, steps));
        self.clock = Instant::now();
        while self.progress.epoch < self.config.epochs {
            if self.epoch(&loader, (&*loss, &inputs), (&mut display, &mut lines), stop, job)?
                == Outcome::Stopped
            {
                display.finish();
                return Ok(Outcome::Stopped);
            }
            if let Some(row) = self.rows.last() {
                write_events(&mut events, row, self.config.target)?;
            }
        }
        display.finish();
        Ok(Outcome::Done)
    }

    /// Returns the weight of each species in the loss, if the loss is weighted.
    pub(super) fn class_weights(&self) -> Option<Vec<f32>> {
        let weighted = self.config.class_weights;
        weighted.then(|| canopy_data::split::class_weights(&self.training_counts()))
    }

    pub(super) fn objective(&self) -> Result<Arc<dyn Objective>> {
        let (smoothing, orthogonality) = (self.config.smoothing, self.config.orthogonality);
        if let Some(number) = &self.number {
            return Ok(Arc::new(NumberLoss {
                head: number.head.clone(),
                orthogonality,
            }));
        }
        let class_weights = self
            .class_weights()
            .map(|weights| Tensor::from_vec(weights, self.data.species.len(), &self.device))
            .transpose()?;
        Ok(Arc::new(Loss {
            smoothing,
            class_weights,
            orthogonality,
        }))
    }

    fn epoch(
        &mut self,
        loader: &Loader,
        objective: (&dyn Objective, &StepInputs),
        (display, lines): (&mut Display, &mut StepLines),
        stop: &AtomicBool,
        job: &mut Option<Job>,
    ) -> Result<Outcome> {
        let epoch = self.progress.epoch;
        let start = Instant::now();
        let todo = match self.todo.take() {
            Some(resumed) => plan::micro(&resumed, self.config.batch),
            None => self.plan().steps(epoch, self.progress.batch)?,
        };
        let clouds: usize = todo.iter().flatten().map(Vec::len).sum();
        let own = match job {
            Some(_) => self.functions.shares(&todo, 0, self.config.ranks)?,
            None => todo.clone(),
        };
        let mut incoming = loader.epoch(epoch as u64, own.concat());
        for whole in &todo {
            let began = Instant::now();
            let batches = profile::timed("next batch", Kind::Load, || {
                incoming.loaded().take(whole.len()).collect::<Result<Vec<_>>>()
            })?;
            self.step((whole, &batches), objective, job.as_mut())?;
            self.fastest_step = self.fastest_step.min(began.elapsed().as_secs_f64());
            let line_due = lines.due(self.progress.step);
            let many_pending = self.device.is_cuda() && self.progress.step.is_multiple_of(READ_EVERY);
            let mine = Requests {
                read: display.step(epoch) || line_due || many_pending,
                save: self.save_is_due(),
                stop: stop.load(Ordering::Relaxed),
            };
            let requests = match job {
                Some(job) => job.member.agree(mine)?,
                None => mine,
            };
            self.read(requests, job.as_mut())?;
            if requests.read {
                let rate = self.running.seen as f64 / start.elapsed().as_secs_f64();
                display.figures(self.running.loss(), self.running.accuracy(), rate);
            }
            if line_due {
                display.line(&lines.text(&self.step_line()?));
            }
            if requests.save || requests.stop {
                self.save(job.as_ref())?;
            }
            if requests.stop {
                return Ok(Outcome::Stopped);
            }
            if let Some(job) = job {
                job.member
                    .doing(&format!("in step {}, loading", self.progress.step));
            }
        }
        let end = Requests {
            read: true,
            save: true,
            stop: false,
        };
        self.read(end, job.as_mut())?;
        let trained = start.elapsed().as_secs_f64();
        self.end_epoch(start, clouds as f64 / trained, display, job.as_ref())?;
        let save = self.progress.epoch == self.config.epochs || self.save_is_due();
        if let Some(job) = job {
            job.member.barrier()?;
            job.member.agree(Requests {
                save,
                ..Requests::default()
            })?;
        }
        if save {
            self.save(job.as_ref())?;
        }
        Ok(Outcome::Done)
    }

    /// Reads loss and accuracy of the epoch so far, over all ranks, if anything in `requests` needs them.
    fn read(&mut self, requests: Requests, job: Option<&mut Job>) -> Result<()> {
        match job {
            Some(job) => job
                .member
                .follow(requests, &self.model, &mut self.running, self.progress.step),
            None if requests != Requests::default() => self.running.read(&mut |_| Ok(())),
            None => Ok(()),
        }
    }

    /// One optimizer step on `own`, rank 0's clouds of each micro-batch in `whole`.
    fn step(
        &mut self,
        batches: (&[Vec<usize>], &[Loaded]),
        (loss, inputs): (&dyn Objective, &StepInputs),
        job: Option<&mut Job>,
    ) -> Result<()> {
        let now = (self.progress.step, self.learning_rate(self.progress.step)?);
        let mut replica = Replica {
            model: &self.model,
            optimizer: &mut *self.optimizer,
            scaler: self.scaler.as_mut(),
            running: &mut self.running,
            loss,
            inputs,
        };
        let taken = replica.step(batches, now, job.map(|job| &mut job.member))?;
        self.progress.left_out.0 += u64::from(!taken);
        self.progress.left_out.1 += u64::from(!taken);
        self.progress.step += 1;
        self.progress.batch += 1;
        Ok(())
    }

    fn learning_rate(&self, step: u64) -> Result<f64> {
        self.plan().learning_rate(step)
    }

    /// What a line after this step reports.
    fn step_line(&self) -> Result<StepLine> {
        let step = self.progress.step;
        Ok(StepLine {
            step,
            skipped: self.progress.left_out.0,
            rate: self.learning_rate(step.saturating_sub(1))?,
            loss: self.running.loss(),
        })
    }

    /// Ends an epoch: evaluates if due, keeps the best weights, appends a row to the metrics.
    fn end_epoch(
        &mut self,
        start: Instant,
        clouds_per_second: f64,
        display: &mut Display,
        job: Option<&Job>,
    ) -> Result<()> {
        let alive = |what: &str| job.map_or(Ok(()), |job| job.member.alive(what));
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
            self.validate(&mut row, &mut |_| alive("evaluating"))?;
        }
        self.progress.epoch = done;
        self.progress.batch = 0;
        self.progress.left_out.0 = 0;
        self.running = Running::default();
        alive("saving")?;
        self.keep_best(&row, last)?;
        row.seconds = start.elapsed().as_secs_f64();
        display.epoch(&row);
        self.folder.append(&row)?;
        self.rows.push(row);
        Ok(())
    }

    /// Scores the current weights on the validation set.
    fn validate(&self, row: &mut EpochRow, each: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        let validation = &self.split.validation;
        if let Some(number) = &self.number {
            let forecasts = self.forecast(number, validation, 1, each)?;
            let scores = forecasts.scores("validation");
            row.val_loss = Some(forecasts.loss());
            row.val_crps = Some(scores.crps);
            row.val_error = Some(scores.mae);
            return Ok(());
        }
        let scores = self
            .predict(validation, 1, each)?
            .scores("validation", &self.data.species);
        row.val_loss = Some(scores.loss);
        row.val_accuracy = Some(scores.accuracy);
        row.val_balanced = Some(scores.balanced_accuracy);
        Ok(())
    }

    /// Saves the weights if this epoch is the best so far. Of epochs with equal scores the later one is kept. Without a
    /// validation set the last epoch is the best.
    fn keep_best(&mut self, row: &EpochRow, last: bool) -> Result<()> {
        let score = match row.val_balanced.or(row.val_crps.map(|crps| -crps)) {
            // NaN would keep every later epoch from being the best.
            Some(score) => score.max(f64::NEG_INFINITY),
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

    fn save_is_due(&self) -> bool {
        self.last_save.elapsed() > Duration::from_secs_f64(self.config.checkpoint_seconds)
    }

    /// Saves a checkpoint. If the ranks share the optimizer, all of them take part.
    fn save(&mut self, job: Option<&Job>) -> Result<()> {
        let _span = profile::span("save", Kind::Other);
        let shared = job
            .map(|job| job.member.shared_state(&*self.optimizer))
            .transpose()?;
        let optimizer = match shared.flatten() {
            Some(whole) => whole,
            None => self.optimizer.state()?,
        };
        self.progress.loss_bits = self.running.loss_sum.to_bits();
        self.progress.correct = self.running.correct;
        self.progress.seen = self.running.seen;
        self.progress.scaler = self.scaler.as_ref().map(|s| s.rule().clone());
        self.progress.seconds += self.clock.elapsed().as_secs_f64();
        self.clock = Instant::now();
        checkpoint::save(&self.folder.last(), &self.progress, &self.weights()?, &optimizer)?;
        self.last_save = Instant::now();
        Ok(())
    }
}

fn write_events(events: &mut EventWriter, row: &EpochRow, target: Target) -> Result<()> {
    let share = match target {
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
            events.scalar_now(tag, row.step, value as f32)?;
        }
    }
    events.flush()
}

//! The run loop: epochs, evaluation, checkpoints.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use candle_core::Tensor;

use super::{
    EpochRow, Outcome, Running, Step, Trainer, checkpoint,
    inputs::StepInputs,
    ranks::{Member, Requests, start_followers},
    reporter::Reporter,
    species::Species,
    task::Task,
};
use crate::{
    loader::{Batch, Loader, micro_batches},
    precision::{GradScaler, LossScale},
    profile::{self, Kind},
};

/// Steps after which loss and accuracy are read from a GPU even if nothing shows them, so that a run which diverged ends,
/// and few scalars are left there. Reading waits, so a smaller number would cost time.
const READ_EVERY: u64 = 100;

impl Trainer {
    /// Trains until [`Trainer::until`] epochs are done or `stop` is set. If `stop` is set, saves a checkpoint in the middle of the
    /// epoch. If the ranks are processes ([`Trainer::join`]), only rank 0 writes to the run's folder.
    ///
    /// # Errors
    /// Returns an error if a cloud cannot be read, training diverges, a rank fails or a file cannot be written. The last
    /// checkpoint remains.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<Outcome> {
        let links = match (self.links.take(), self.config.ranks) {
            (None, 1) => return self.epochs(stop, None),
            (Some(links), _) => links,
            (None, _) => start_followers(self)?,
        };
        self.run_as(links, stop)
    }

    /// Trains as the rank `member`, or as the only one. Rank 0 reports, evaluates and saves.
    pub(super) fn epochs(&mut self, stop: &AtomicBool, mut member: Option<&mut Member>) -> Result<Outcome> {
        let mut collate = self.config.collate(self.data.clone());
        collate.augment.own = self.own_augment;
        let loader = Loader::new(Arc::new(collate), self.config.workers, self.config.prefetch);
        let inputs = self.step_inputs(member.as_ref().map(|member| member.share()))?;
        let leads = member.as_ref().is_none_or(|member| member.rank() == 0);
        let mut reporter = leads.then(|| Reporter::new(self)).transpose()?;
        self.clock = Instant::now();
        let mut outcome = Outcome::Done;
        while outcome == Outcome::Done && self.progress.epoch < self.until {
            outcome = self.epoch(&loader, &inputs, reporter.as_mut(), stop, member.as_deref_mut())?;
            if let (Some(reporter), Some(row), Outcome::Done) = (&mut reporter, self.rows.last(), outcome) {
                reporter.epoch(row)?;
            }
        }
        if let Some(reporter) = reporter {
            reporter.finish();
        }
        Ok(outcome)
    }

    /// Trains for the rest of an epoch. Only rank 0 has a `reporter`.
    fn epoch(
        &mut self,
        loader: &Loader,
        inputs: &StepInputs,
        mut reporter: Option<&mut Reporter>,
        stop: &AtomicBool,
        mut member: Option<&mut Member>,
    ) -> Result<Outcome> {
        let epoch = self.progress.epoch;
        let start = Instant::now();
        let steps = self.batches(epoch, self.progress.batch)?;
        let micro = |batch: &Vec<usize>| micro_batches(batch, self.config.batch);
        let todo: Vec<Vec<Vec<usize>>> = steps.iter().map(micro).collect();
        let clouds: usize = todo.iter().flatten().map(Vec::len).sum();
        let own = match &member {
            Some(member) => self.functions.shares(&todo, member.rank(), self.config.ranks)?,
            None => todo.clone(),
        };
        let mut incoming = loader.epoch(epoch as u64, own.concat());
        // A run that was resumed within the epoch has seen clouds before `start`.
        let seen_before = self.running.seen;
        for whole in &todo {
            if let Some(member) = &member {
                member.doing(&format!("in step {}, loading", self.progress.step));
            }
            let began = Instant::now();
            let batches = profile::timed("next batch", Kind::Load, || {
                incoming.by_ref().take(whole.len()).collect::<Result<Vec<_>>>()
            })?;
            self.step((whole, &batches), inputs, member.as_deref_mut())?;
            self.fastest_step = self.fastest_step.min(began.elapsed().as_secs_f64());
            let step = self.progress.step;
            let figures_due = reporter
                .as_mut()
                .is_some_and(|reporter| reporter.needs_figures(epoch, step));
            let many_pending = self.device.device.is_cuda() && step.is_multiple_of(READ_EVERY);
            let mine = Requests {
                read: figures_due || many_pending,
                save: reporter.is_some() && self.save_is_due(),
                stop: stop.load(Ordering::Relaxed),
            };
            let requests = agreed(member.as_deref(), mine)?;
            self.read(requests, member.as_deref_mut())?;
            if let Some(reporter) = &mut reporter {
                if requests.read {
                    let rate = (self.running.seen - seen_before) as f64 / start.elapsed().as_secs_f64();
                    reporter.figures(&self.running, rate);
                }
                if reporter.line_is_due(step) {
                    let rate = self.learning_rate(step.saturating_sub(1))?;
                    reporter.line(step, self.progress.left_out.0, rate, self.running.loss());
                }
            }
            if requests.save || requests.stop {
                self.save(member.as_deref())?;
            }
            if requests.stop {
                return Ok(Outcome::Stopped);
            }
        }
        let end = Requests {
            read: true,
            save: true,
            stop: false,
        };
        self.read(end, member.as_deref_mut())?;
        let trained = start.elapsed().as_secs_f64();
        match &reporter {
            Some(_) => self.end_epoch(start, clouds as f64 / trained, member.as_deref())?,
            None => self.begin_next_epoch(),
        }
        let last = self.progress.epoch == self.until;
        if let Some(member) = &member {
            member.barrier()?;
        }
        let mine = Requests {
            save: reporter.is_some() && (last || self.save_is_due()),
            ..Requests::default()
        };
        if agreed(member.as_deref(), mine)?.save {
            self.save(member.as_deref())?;
        }
        Ok(Outcome::Done)
    }

    /// Reads loss and accuracy of the epoch so far, over all ranks, if anything in `requests` needs them.
    fn read(&mut self, requests: Requests, member: Option<&mut Member>) -> Result<()> {
        match member {
            Some(member) => member.follow(requests, &self.model, &mut self.running, self.progress.step),
            None if requests != Requests::default() => self.running.read(&mut |_| Ok(())),
            None => Ok(()),
        }
    }

    /// One optimizer step on the clouds of this rank of each micro-batch of the whole batch.
    fn step(
        &mut self,
        (whole, own): (&[Vec<usize>], &[Batch]),
        inputs: &StepInputs,
        member: Option<&mut Member>,
    ) -> Result<()> {
        let _span = profile::span("step", Kind::Other);
        let step = self.progress.step;
        let rate = self.learning_rate(step)?;
        let micro = self.micro_batches(inputs, step, own)?;
        let share = member.is_some().then(|| self.rank_share(inputs, whole));
        let scaler = self.scaler.as_mut();
        let mut one = Step {
            clip: self.config.clip,
            scaler: scaler.map(|scaler| scaler as &mut GradScaler<dyn LossScale>),
            ..Step::new(&self.model, &mut *self.optimizer, &*inputs.loss)
        };
        let stepped = match member.zip(share) {
            Some((member, share)) => member.step(one, &micro, share, (step, rate))?,
            None => one.take(&micro, rate)?,
        };
        for figures in &stepped.figures {
            self.running.push(figures, stepped.taken)?;
        }
        // A step is skipped if a gradient overflowed.
        self.progress.left_out.0 += u64::from(!stepped.taken);
        self.progress.left_out.1 += u64::from(!stepped.taken);
        self.progress.step += 1;
        self.progress.batch += 1;
        Ok(())
    }

    /// Ends an epoch: evaluates if due, keeps the best weights, appends a row to the metrics.
    fn end_epoch(&mut self, start: Instant, clouds_per_second: f64, member: Option<&Member>) -> Result<()> {
        let alive = |what: &str| member.map_or(Ok(()), |member| member.alive(what));
        let done = self.progress.epoch + 1;
        let last = done == self.until;
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
            let each = &mut |_| alive("evaluating");
            match &self.number {
                Some(number) => self.validate(number, &mut row, each)?,
                None => self.validate(&Species(&self.data.species), &mut row, each)?,
            }
        }
        self.begin_next_epoch();
        alive("saving")?;
        self.keep_best(&row, last)?;
        row.seconds = start.elapsed().as_secs_f64();
        self.folder.append(&row)?;
        self.rows.push(row);
        Ok(())
    }

    fn begin_next_epoch(&mut self) {
        self.progress.epoch += 1;
        self.progress.batch = 0;
        self.progress.left_out.0 = 0;
        self.running = Running::default();
    }

    /// Scores the current weights on the validation set.
    fn validate<T: Task>(
        &self,
        task: &T,
        row: &mut EpochRow,
        each: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let part = self.part("validation", &self.split.validation);
        let predictions = self.predict(task, &part, 1, each)?;
        task.log(&task.scores(&part, &predictions), row);
        Ok(())
    }

    /// Saves the weights if this epoch is the best so far. Of epochs with equal scores the later one is kept. Without a
    /// validation set the last epoch is the best.
    fn keep_best(&mut self, row: &EpochRow, last: bool) -> Result<()> {
        let score = match row.score() {
            // NaN would keep every later epoch from being the best.
            Some(score) => score.max(f64::NEG_INFINITY),
            None if last && self.split.validation.is_empty() => 0.0,
            None => return Ok(()),
        };
        let best = self.progress.best;
        if best.is_none_or(|(bits, _)| score >= f64::from_bits(bits)) {
            let _span = profile::span("save", Kind::Other);
            self.progress.best = Some((score.to_bits(), row.epoch));
            let bytes = self.write(&self.folder.best(), &[])?;
            self.on_best.as_mut().map_or(Ok(()), |on_best| on_best(&bytes))?;
        }
        Ok(())
    }

    /// Writes a checkpoint with the weights and this state of the optimizer. Returns its bytes.
    fn write(&self, path: &Path, optimizer: &[(String, Tensor)]) -> Result<Vec<u8>> {
        let weights: Vec<_> = self.model.to_map()?.into_iter().collect();
        checkpoint::save(path, &self.progress, &weights, optimizer)
    }

    fn save_is_due(&self) -> bool {
        self.last_save.elapsed() > Duration::from_secs_f64(self.config.checkpoint_seconds)
    }

    /// Saves a checkpoint on rank 0. If the ranks share the optimizer, all of them take part.
    fn save(&mut self, member: Option<&Member>) -> Result<()> {
        let _span = profile::span("save", Kind::Other);
        let shared = member
            .map(|member| member.shared_state(&*self.optimizer))
            .transpose()?;
        if member.is_some_and(|member| member.rank() > 0) {
            return Ok(());
        }
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
        self.write(&self.folder.last(), &optimizer)?;
        self.last_save = Instant::now();
        Ok(())
    }
}

/// What the ranks agree on; with one rank, its own requests.
fn agreed(member: Option<&Member>, mine: Requests) -> Result<Requests> {
    member.map_or(Ok(mine), |member| member.agree(mine))
}

//! The run loop: epochs, evaluation, checkpoints.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor};
use canopy_data::{Dataset, split::Split};

use super::{
    Checkpoint, Config, Display, EvaluateOptions, Loss, Predictions, Progress, RunFolder, Running,
    checkpoint, evaluate, train_step,
};
use crate::{
    device::Chosen,
    kernels::Pass,
    loader::{Collate, Loader, batches, epoch_order},
    model::PointNet,
    optim::Optimizer,
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

/// A model under training, with all that it needs.
pub struct Trainer {
    /// The run's configuration.
    pub config: Config,
    /// All the data.
    pub data: Dataset,
    /// Which records train, choose and test.
    pub split: Split,
    /// The network.
    pub model: PointNet,
    /// The run's folder.
    pub folder: RunFolder,
    /// Where the run stands.
    pub progress: Progress,
    /// The epochs done.
    pub rows: Vec<EpochRow>,
    device: Device,
    device_name: String,
    optimizer: Box<dyn Optimizer>,
    running: Running,
    last_save: Instant,
    clock: Instant,
}

impl Trainer {
    /// A run at its start.
    ///
    /// # Errors
    /// A configuration, split or data set that cannot be trained with.
    pub fn new(
        config: Config,
        data: Dataset,
        split: Split,
        device: Chosen,
        folder: RunFolder,
    ) -> Result<Self> {
        ensure!(
            split.train.len() >= 2,
            "{} training clouds are too few: at least 2 are needed",
            split.train.len()
        );
        let Chosen {
            device,
            name: device_name,
            ..
        } = device;
        let model = PointNet::new(
            &config.network(data.species.len()),
            &device,
            DType::F32,
            config.seed,
        )?;
        let optimizer = config.optim()?.build(model.params())?;
        let progress = Progress::start(config.clone(), data.species.clone(), data.digest.clone());
        let now = Instant::now();
        Ok(Self {
            config,
            data,
            split,
            model,
            folder,
            progress,
            rows: Vec::new(),
            device,
            device_name,
            optimizer,
            running: Running::default(),
            last_save: now,
            clock: now,
        })
    }

    /// A run taken up where `checkpoint` left it.
    ///
    /// # Errors
    /// Other data than it was trained with, or tensors that do not fit.
    pub fn resume(
        checkpoint: Checkpoint,
        data: Dataset,
        split: Split,
        device: Chosen,
        folder: RunFolder,
    ) -> Result<Self> {
        let Checkpoint {
            progress,
            model,
            optimizer,
        } = checkpoint;
        ensure!(
            progress.data_digest == data.digest,
            "the run was trained on data with digest {}, and {} now has digest {}: going on would mix two data sets",
            progress.data_digest,
            progress.config.data,
            data.digest
        );
        let mut this = Self::new(progress.config.clone(), data, split, device, folder)?;
        let source = this.folder.last().display().to_string();
        this.model.from_map(&to_device(model, &this.device)?, &source)?;
        this.optimizer
            .load_state(&to_device(optimizer, &this.device)?)
            .with_context(|| source)?;
        this.rows = this.folder.rewind(progress.epoch)?;
        this.running.loss_sum = f64::from_bits(progress.loss_bits);
        this.running.correct = progress.correct;
        this.running.seen = progress.seen;
        this.progress = progress;
        Ok(this)
    }

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

    /// The device's name for people.
    pub fn device_name(&self) -> &str {
        &self.device_name
    }

    /// Training steps of an epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        batches(&self.split.train, self.config.batch, true).len() as u64
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

    /// Training clouds of each species, in label order.
    pub fn training_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.data.species.len()];
        self.split
            .train
            .iter()
            .for_each(|&r| counts[self.data.records[r].species] += 1);
        counts
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
        let order: Vec<usize> = epoch_order(self.split.train.len(), self.config.seed, epoch as u64)
            .into_iter()
            .map(|i| self.split.train[i])
            .collect();
        let mut todo = batches(&order, self.config.batch, true);
        let todo = todo.split_off(self.progress.batch.min(todo.len()));
        let clouds: usize = todo.iter().map(Vec::len).sum();
        for batch in loader.epoch(epoch as u64, todo) {
            self.step(&batch?, loss)?;
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

    fn step(&mut self, batch: &crate::loader::Batch, loss: &Loss) -> Result<()> {
        let (points, labels) = batch.to_device(&self.device)?;
        let pass = Pass::train(self.config.seed, self.progress.step).plain(self.config.plain);
        let rate = self.learning_rate(self.progress.step)?;
        let (value, correct) = train_step(
            &self.model,
            &mut *self.optimizer,
            (&points, &labels),
            loss,
            &pass,
            rate,
            self.config.clip,
        )?;
        self.running.push(value, correct, batch.labels.len() as u64);
        self.progress.step += 1;
        self.progress.batch += 1;
        Ok(())
    }

    fn learning_rate(&self, step: u64) -> Result<f64> {
        let total = self.steps_per_epoch() * self.config.epochs as u64;
        Ok(self
            .config
            .schedule()?
            .rate(step, total, self.config.learning_rate))
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
            ..EpochRow::default()
        };
        let due = last || done.is_multiple_of(self.config.evaluate_every);
        if due && !self.split.validation.is_empty() {
            let validation = self.split.validation.clone();
            let predictions = self.predict(&validation, 1, &mut |_| ())?;
            let scores = predictions.scores("validation", &self.data.species);
            row.val_loss = Some(scores.loss);
            row.val_accuracy = Some(scores.accuracy);
            row.val_balanced = Some(scores.balanced_accuracy);
        }
        self.progress.epoch = done;
        self.progress.batch = 0;
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
            self.progress.best = Some((score.to_bits(), row.epoch));
            checkpoint::save(&self.folder.best(), &self.progress, &self.weights()?, &[])?;
        }
        Ok(())
    }

    fn weights(&self) -> Result<Vec<(String, Tensor)>> {
        Ok(self.model.to_map()?.into_iter().collect())
    }

    fn save(&mut self) -> Result<()> {
        self.running.read()?;
        self.progress.loss_bits = self.running.loss_sum.to_bits();
        self.progress.correct = self.running.correct;
        self.progress.seen = self.running.seen;
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

    /// What the model says of `records` now.
    ///
    /// # Errors
    /// The loader's or candle's.
    pub fn predict(
        &self,
        records: &[usize],
        votes: usize,
        each: &mut dyn FnMut(usize),
    ) -> Result<Predictions> {
        let options = EvaluateOptions {
            points: self.config.points,
            frame: self.config.frame,
            features: self.config.features,
            batch: self.config.batch,
            votes,
            workers: self.config.workers,
            plain: self.config.plain,
            device: &self.device,
        };
        evaluate::predict(&self.model, &self.data, records, &options, each)
    }

    /// Puts the best epoch's weights into the model.
    ///
    /// # Errors
    /// The checkpoint's.
    pub fn load_best(&mut self) -> Result<()> {
        let best = self.folder.best();
        let checkpoint = checkpoint::load(&best)?;
        self.model.from_map(
            &to_device(checkpoint.model, &self.device)?,
            &best.display().to_string(),
        )
    }

    /// The points of a record that an evaluation sees (the first vote's), in metres.
    ///
    /// # Errors
    /// The cloud's.
    pub fn seen_points(&self, record: usize) -> Result<Vec<[f32; 3]>> {
        self.collate().drawn(record, 0)
    }

    /// How an evaluation turns a record into points.
    fn collate(&self) -> Collate {
        let Config {
            points,
            frame,
            features,
            ..
        } = self.config;
        evaluate::collate(&self.data, points, frame, features)
    }

    /// Indices of the points of [`Self::seen_points`] that survive the max.
    ///
    /// # Errors
    /// The cloud's or candle's.
    pub fn critical_points(&self, record: usize) -> Result<Vec<usize>> {
        let (points, _) = self.collate().batch(&[record], 0)?.to_device(&self.device)?;
        Ok(self.model.critical_points(&points.squeeze(0)?)?)
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
    ];
    for (tag, value) in values {
        if let Some(value) = value {
            events.scalar_now(tag, row.step, value as f32)?;
        }
    }
    Ok(events.flush()?)
}

fn to_device(tensors: HashMap<String, Tensor>, device: &Device) -> Result<HashMap<String, Tensor>> {
    tensors
        .into_iter()
        .map(|(name, t)| Ok((name, t.to_device(device)?)))
        .collect()
}

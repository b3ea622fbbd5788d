//! A model under training and all that belongs to it; `run` holds the loop over it.

use std::{collections::HashMap, sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use candle_core::{DType, Device, Tensor};
use canopy_data::{Dataset, split::Split};

use super::{
    Checkpoint, Config, EvaluateOptions, Predictions, Progress, RunFolder, Running, Saved, checkpoint,
    evaluate,
    master::build_optimizer,
    ranks::{Pieces, RankStats},
    take_up,
};
use crate::{
    device::Chosen,
    kernels::Lowering,
    loader::{Points, lengths},
    model::PointNet,
    optim::Optimizer,
    precision::{GradScaler, LossScale, LossScaler},
    report::EpochRow,
};

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
    /// What the ranks of a run with several do with batches and gradients.
    pub pieces: Pieces,
    /// What working with the other ranks cost rank 0.
    pub rank_stats: RankStats,
    /// Seconds of the fastest step so far, with its waiting for the loader; infinite before the first.
    pub fastest_step: f64,
    /// Points of every record's cloud if they keep their length ([`lengths`]); otherwise empty.
    pub(super) lengths: Vec<usize>,
    pub(super) device: Device,
    pub(super) device_name: String,
    pub(super) optimizer: Box<dyn Optimizer>,
    pub(super) lowering: Option<Arc<dyn Lowering>>,
    pub(super) scaler: Option<GradScaler<LossScaler>>,
    pub(super) running: Running,
    /// Batches of the epoch that was taken up in its middle.
    pub(super) todo: Option<Vec<Vec<usize>>>,
    pub(super) last_save: Instant,
    pub(super) clock: Instant,
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
        let optimizer = build_optimizer(&config, &model)?;
        let lowering = config.precision.lowering(&device);
        let scaler = LossScaler::parse(&config.loss_scale, config.precision)?.map(GradScaler::new);
        let progress = Progress::start(config.clone(), data.species.clone(), data.digest.clone());
        let now = Instant::now();
        Ok(Self {
            lengths: lengths(&data, config.cloud_points())?,
            config,
            data,
            split,
            model,
            folder,
            progress,
            rows: Vec::new(),
            pieces: Pieces::default(),
            rank_stats: RankStats::default(),
            fastest_step: f64::INFINITY,
            device,
            device_name,
            optimizer,
            lowering,
            scaler,
            running: Running::default(),
            todo: None,
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
        let saved = Saved {
            model: to_device(model, &this.device)?,
            optimizer: to_device(optimizer, &this.device)?,
            seed: this.config.seed,
            epoch: progress.epoch,
            batch: progress.batch,
        };
        let size = this.config.batch * this.config.accumulate;
        let (model, optimizer) = (&this.model, this.optimizer.as_mut());
        let todo = take_up(&saved, model, optimizer, &this.split.train, size, &source)?;
        this.todo = Some(match this.config.cloud_points() {
            Points::Fixed(_) => todo,
            Points::All { .. } => this.plan().batches(progress.epoch, progress.batch)?,
        });
        this.rows = this.folder.rewind(progress.epoch)?;
        this.running.loss_sum = f64::from_bits(progress.loss_bits);
        this.running.correct = progress.correct;
        this.running.seen = progress.seen;
        if let Some(rule) = &progress.scaler {
            this.scaler = Some(GradScaler::new(rule.clone()));
        }
        this.progress = progress;
        Ok(this)
    }

    /// Where the model is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The device's name for people.
    pub fn device_name(&self) -> &str {
        &self.device_name
    }

    /// What a person must know of the run's number format; nothing of fp32 without a loss scale.
    pub fn precision_told(&self) -> Option<String> {
        let format = self.config.precision.told(&self.device);
        let scale = self.scaler.as_ref().map(|s| {
            let left_out = self.progress.left_out.1;
            format!("loss scale {}, {left_out} steps left out", s.rule().scale())
        });
        let parts: Vec<String> = format.into_iter().chain(scale).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Training steps of an epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        self.plan().steps_per_epoch()
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

    /// What the model says of `records` now.
    ///
    /// # Errors
    /// The loader's or candle's.
    pub fn predict(
        &self,
        records: &[usize],
        votes: usize,
        each: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Predictions> {
        let options = EvaluateOptions {
            points: self.config.cloud_points(),
            lengths: &self.lengths,
            frame: self.config.frame,
            features: self.config.features,
            batch: self.config.batch,
            votes,
            workers: self.config.workers,
            plain: self.config.plain,
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
    fn collate(&self) -> crate::loader::Collate {
        let Config { frame, features, .. } = self.config;
        evaluate::collate(&self.data, self.config.cloud_points(), frame, features)
    }

    /// Indices of the points of [`Self::seen_points`] that survive the max.
    ///
    /// # Errors
    /// The cloud's or candle's.
    pub fn critical_points(&self, record: usize) -> Result<Vec<usize>> {
        let (points, _) = self.collate().batch(&[record], 0)?.to_device(&self.device)?;
        self.model.critical_points(&points.squeeze(0)?)
    }
}

pub(super) fn to_device(
    tensors: HashMap<String, Tensor>,
    device: &Device,
) -> Result<HashMap<String, Tensor>> {
    tensors
        .into_iter()
        .map(|(name, t)| Ok((name, t.to_device(device)?)))
        .collect()
}

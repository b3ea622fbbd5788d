//! The state of a training run; its loop is in `run`.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Instant,
};

use anyhow::{Result, ensure};
use candle_core::{DType, Device, Tensor};
use canopy_data::{
    Dataset,
    split::{Split, species_counts},
};

use super::{
    Checkpoint, Config, EpochRow, Progress, RunFolder, Running, Saved, checkpoint, evaluate,
    master::build_optimizer,
    numbers::Number,
    ranks::{Links, RankFunctions, RankStats},
    resume_batches,
    task::{Part, Task},
};
use crate::{
    device::Chosen,
    kernels::{Lowering, Pass},
    loader::OwnAugment,
    model::PointNet,
    optim::Optimizer,
    precision::{GradScaler, LossScale, LossScaler},
};

/// Receives the bytes of a checkpoint.
pub type OnBest = Box<dyn FnMut(&[u8]) -> Result<()> + Send + Sync>;

/// A training run: configuration, data, model, optimizer and progress.
pub struct Trainer {
    /// The run's configuration.
    pub config: Config,
    /// The data set.
    pub data: Dataset,
    /// Training, validation and test records.
    pub split: Split,
    /// The number of epochs after which [`Trainer::run`] returns; usually those of the configuration. The last one is evaluated
    /// and saved, and the learning rate is that of the whole run.
    pub until: usize,
    /// The network.
    pub model: PointNet,
    /// The run's folder.
    pub folder: RunFolder,
    /// Epochs and steps done so far.
    pub progress: Progress,
    /// Metrics of the epochs done.
    pub rows: Vec<EpochRow>,
    /// A further augmentation of the training clouds; with ranks, only rank 0 applies it.
    pub own_augment: Option<OwnAugment>,
    /// Called with the checkpoint of each epoch that is the best so far. Its error ends the run.
    pub on_best: Option<OnBest>,
    /// How several ranks share batches and average gradients.
    pub functions: RankFunctions,
    /// Communication cost of rank 0.
    pub rank_stats: RankStats,
    /// Time of the fastest step so far, including the wait for the loader, in seconds; infinite before the first step.
    pub fastest_step: f64,
    /// The number that the run predicts; none if it predicts the species.
    pub number: Option<Number>,
    /// The category of each record, for a network with an embedding.
    pub(super) categories: Option<Vec<u32>>,
    /// This process's links if the ranks are processes.
    pub(super) links: Option<Links>,
    /// Where the model is.
    pub device: Chosen,
    pub(super) optimizer: Box<dyn Optimizer>,
    pub(super) lowering: Option<Arc<dyn Lowering>>,
    pub(super) scaler: Option<GradScaler<LossScaler>>,
    pub(super) running: Running,
    pub(super) last_save: Instant,
    pub(super) clock: Instant,
}

impl Trainer {
    /// Creates a new run.
    ///
    /// # Errors
    /// Returns an error if there are fewer than two training records, or if a setting is invalid.
    pub fn new(
        config: Config,
        data: Dataset,
        split: Split,
        device: Chosen,
        folder: RunFolder,
    ) -> Result<Self> {
        ensure!(
            split.train.len() >= 2,
            "there are {} training clouds, expected at least 2",
            split.train.len()
        );
        let number = Number::fit(&config, &data, &split.train)?;
        let outputs = number.as_ref().map_or(data.species.len(), |n| n.head.outputs());
        let network = config.network(outputs);
        let model = PointNet::new(&network, &device.device, DType::F32, config.seed)?;
        let optimizer = build_optimizer(&config, model.params())?;
        let lowering = config.precision.lowering(&device.device);
        let scaler = config.loss_scale.scaler(config.precision).map(GradScaler::new);
        let mut progress = Progress {
            version: checkpoint::VERSION,
            config: config.clone(),
            species: data.species.clone(),
            data_digest: data.digest.clone(),
            head: number.as_ref().map(|n| n.head.clone()),
            ..Progress::default()
        };
        let categories = config.categories_of(&data)?;
        if let Some(ids) = &categories {
            let seen: BTreeSet<u32> = split.train.iter().map(|&r| ids[r]).collect();
            progress.categories = seen.into_iter().collect();
        }
        let now = Instant::now();
        Ok(Self {
            number,
            categories,
            until: config.epochs,
            config,
            data,
            split,
            model,
            folder,
            progress,
            rows: Vec::new(),
            own_augment: None,
            on_best: None,
            functions: RankFunctions::default(),
            rank_stats: RankStats::default(),
            fastest_step: f64::INFINITY,
            links: None,
            device,
            optimizer,
            lowering,
            scaler,
            running: Running::default(),
            last_save: now,
            clock: now,
        })
    }

    /// Resumes a run from `checkpoint`.
    ///
    /// # Errors
    /// Returns an error if the data set differs from that of the run, or if a tensor is missing or has another shape.
    pub fn resume(
        checkpoint: Checkpoint,
        data: Dataset,
        split: Split,
        device: Chosen,
        folder: RunFolder,
    ) -> Result<Self> {
        let progress = checkpoint.progress;
        ensure!(
            progress.data_digest == data.digest,
            "the run was trained on data with digest {}, but {} now has digest {}: resuming would mix two data sets. If \
             only clouds without extent were removed, put their files back: the run leaves them out",
            progress.data_digest,
            progress.config.data,
            data.digest
        );
        let mut this = Self::new(progress.config.clone(), data, split, device, folder)?;
        ensure!(
            this.progress.head == progress.head,
            "the run was trained with other values of {} than {} now has: resuming would mix two data sets",
            progress.config.target,
            progress.config.data
        );
        let source = this.folder.last().display().to_string();
        let saved = Saved {
            model: to_device(checkpoint.model, &this.device.device)?,
            optimizer: to_device(checkpoint.optimizer, &this.device.device)?,
            seed: this.config.seed,
            epoch: progress.epoch,
            batch: progress.batch,
        };
        let size = this.config.batch * this.config.accumulate;
        let (model, optimizer) = (&this.model, this.optimizer.as_mut());
        // The epoch asks for its remaining batches itself.
        resume_batches(&saved, model, optimizer, &this.split.train, size, &source)?;
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

    /// Describes the run's precision and loss scale for users; `None` for fp32 without a loss scale.
    pub fn precision_description(&self) -> Option<String> {
        let format = self
            .config
            .precision
            .description(&self.device.device, self.config.plain);
        let scale = self.scaler.as_ref().map(|s| {
            let skipped = self.progress.left_out.1;
            format!("loss scale {}, {skipped} steps skipped", s.rule().scale())
        });
        let parts: Vec<String> = format.into_iter().chain(scale).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Warns of validation and test records whose combination of categories no training record has.
    pub fn category_warning(&self) -> Option<String> {
        let records = [self.split.validation.clone(), self.split.test.clone()].concat();
        let ids = self.categories.as_deref()?;
        self.progress.category_warning(&self.data, ids, &records)
    }

    /// Returns the number of training clouds of each species, in label order.
    pub fn training_counts(&self) -> Vec<usize> {
        species_counts(&self.data, &self.split.train)
    }

    /// Returns these records as the part `name` of the data set.
    pub fn part<'a>(&'a self, name: &'a str, records: &'a [usize]) -> Part<'a> {
        Part {
            name,
            data: &self.data,
            categories: self.categories.as_deref(),
            records,
        }
    }

    /// Predicts a part with the current weights, from `votes` samples of each cloud. Calls `each` after every batch with the
    /// number of clouds done.
    ///
    /// # Errors
    /// Returns an error if a cloud cannot be read, if `each` returns one, or if candle fails.
    pub fn predict<T: Task>(
        &self,
        task: &T,
        part: &Part,
        votes: usize,
        each: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<T::Prediction>> {
        let pass = Pass::eval().plain(self.config.plain);
        let config = Config {
            votes,
            ..self.config.clone()
        };
        evaluate::predict(task, &self.model, part, &config, &pass, each)
    }

    /// Loads the weights of the best epoch into the model.
    ///
    /// # Errors
    /// Returns an error if the checkpoint cannot be read or does not fit the model.
    pub fn load_best(&mut self) -> Result<()> {
        let best = self.folder.best();
        let checkpoint = checkpoint::load(&best)?;
        let weights = to_device(checkpoint.model, &self.device.device)?;
        self.model.from_map(&weights, &best.display().to_string())
    }

    /// The points of a record that an evaluation samples for its first vote, in metres.
    pub(super) fn seen_points(&self, record: usize) -> Result<Vec<[f32; 3]>> {
        evaluate::collate(&self.config, &self.data).drawn(record, 0)
    }
}

pub(super) fn to_device(
    tensors: HashMap<String, Tensor>,
    device: &Device,
) -> Result<HashMap<String, Tensor>> {
    let moved = tensors
        .into_iter()
        .map(|(name, t)| Ok((name, t.to_device(device)?)));
    moved.collect()
}

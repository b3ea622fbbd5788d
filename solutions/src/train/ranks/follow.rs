//! What every rank but rank 0 does: the plan's steps, and nothing else.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, anyhow};
use candle_core::{DType, Tensor};

use super::{Meeting, Member, Pieces, ending::Reports};
use crate::{
    loader::{Collate, Loader},
    model::PointNet,
    parallel::{Rank, panic_message},
    train::{Loss, Outcome, Plan, Trainer, trainer::to_device},
};

/// All that a rank starts with.
pub struct Follower {
    pub rank: usize,
    pub reports: Reports,
    pub pieces: Pieces,
    meeting: Meeting,
    collate: Collate,
    train: Vec<usize>,
    loss: Loss,
    classes: usize,
    optimizer: HashMap<String, Tensor>,
    /// Epochs, steps of the epoch, and steps in all that are done.
    done: (usize, usize, u64),
}

impl Follower {
    /// Rank `rank` of `trainer`'s run.
    pub fn new(trainer: &Trainer, rank: usize, reports: Reports) -> Result<Self> {
        let progress = &trainer.progress;
        Ok(Self {
            rank,
            reports,
            pieces: trainer.pieces.clone(),
            meeting: trainer.meeting(),
            collate: trainer.train_collate(),
            train: trainer.split.train.clone(),
            loss: trainer.loss()?,
            classes: trainer.data.species.len(),
            optimizer: trainer.optimizer.state()?.into_iter().collect(),
            done: (progress.epoch, progress.batch, progress.step),
        })
    }

    pub fn deadline(&self) -> Duration {
        Duration::from_secs_f64(self.meeting.config.rank_deadline)
    }

    /// To the end of the run, or until the ranks agree to stop, which `stop` asks them for; a panic is an error. The others
    /// hear how it ended.
    pub fn run(self, control: Rank, gradients: Rank, stop: &AtomicBool) -> Result<Outcome> {
        let (rank, reports) = (self.rank, self.reports.clone());
        let ended = catch_unwind(AssertUnwindSafe(|| self.steps(control, gradients, stop)));
        let result = ended.unwrap_or_else(|panic| Err(anyhow!("it panicked: {}", panic_message(&*panic))));
        reports.leave(rank, &result);
        result
    }

    fn steps(self, control: Rank, gradients: Rank, stop: &AtomicBool) -> Result<Outcome> {
        let config = self.meeting.config.clone();
        let device = self.meeting.device.clone();
        let model = PointNet::new(&config.network(self.classes), &device, DType::F32, config.seed)?;
        let mut optimizer = config.optim()?.build(model.params())?;
        optimizer.load_state(&to_device(self.optimizer, &device)?)?;
        let mut member = Member::new(self.meeting, &model, control, gradients, self.reports)?;
        member.broadcast(&model)?;
        let loader = Loader::new(Arc::new(self.collate), config.workers, config.prefetch);
        let plan = Plan {
            config: &config,
            train: &self.train,
            lengths: &[],
        };
        let (first, mut skipped, mut step) = self.done;
        for epoch in first..config.epochs {
            let todo = plan.steps(epoch, skipped)?;
            skipped = 0;
            let own = self.pieces.shares(&todo, self.rank, config.ranks)?;
            member.doing(&format!("in step {step}, loading"));
            let mut batches = loader.epoch(epoch as u64, own.concat());
            for whole in &todo {
                let micro = batches.by_ref().take(whole.len()).collect::<Result<Vec<_>>>()?;
                let rate = plan.learning_rate(step)?;
                let met = member.step(
                    &model,
                    &mut *optimizer,
                    (whole, &micro),
                    &self.loss,
                    (step, rate),
                    stop.load(Ordering::Relaxed),
                )?;
                if met.stop {
                    return Ok(Outcome::Stopped);
                }
                step += 1;
                member.doing(&format!("in step {step}, loading"));
            }
            member.barrier()?;
        }
        Ok(Outcome::Done)
    }
}

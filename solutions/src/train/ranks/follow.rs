//! What every rank except rank 0 does: the steps of the run, and nothing else.

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

use super::{Member, RankFunctions, Requests, ending::Reports, links::Links};
use crate::{
    loader::{Collate, Loader},
    model::PointNet,
    parallel::panic_message,
    precision::{GradScaler, LossScaler},
    train::{
        Config, Objective, Outcome, Plan, Replica, Running, StepInputs, Trainer, master::build_optimizer,
        trainer::to_device,
    },
};

/// The initial state of a rank other than rank 0.
pub struct Follower {
    pub rank: usize,
    pub reports: Reports,
    pub functions: RankFunctions,
    config: Config,
    inputs: StepInputs,
    collate: Collate,
    train: Vec<usize>,
    loss: Arc<dyn Objective>,
    outputs: usize,
    /// The model to train; none: a new one is created.
    model: Option<PointNet>,
    threads: usize,
    optimizer: HashMap<String, Tensor>,
    scaler: Option<LossScaler>,
    /// Epochs, steps of the epoch, and steps in all that are done.
    done: (usize, usize, u64),
}

impl Follower {
    /// Rank `rank` of `trainer`'s run.
    pub fn new(trainer: &Trainer, rank: usize, threads: usize, reports: Reports) -> Result<Self> {
        let progress = &trainer.progress;
        Ok(Self {
            rank,
            reports,
            functions: trainer.functions.clone(),
            config: trainer.config.clone(),
            inputs: trainer.step_inputs(None),
            collate: trainer.train_collate(),
            train: trainer.split.train.clone(),
            loss: trainer.objective()?,
            outputs: trainer.outputs(),
            model: None,
            threads,
            optimizer: trainer.optimizer.state()?.into_iter().collect(),
            scaler: trainer.scaler.as_ref().map(|s| s.rule().clone()),
            done: (progress.epoch, progress.batch, progress.step),
        })
    }

    /// Trains `model` instead of a copy, with which the process would have its weights twice.
    #[must_use]
    pub fn on(self, model: PointNet) -> Self {
        Self {
            model: Some(model),
            ..self
        }
    }

    pub fn deadline(&self) -> Duration {
        Duration::from_secs_f64(self.config.rank_deadline)
    }

    /// Runs to the end, or until the ranks agree to stop; `stop` is this rank's request to stop. A panic becomes an error.
    /// Reports the outcome to the other ranks.
    pub fn run(self, links: Links, stop: &AtomicBool) -> Result<Outcome> {
        let (rank, reports) = (self.rank, self.reports.clone());
        let ended = catch_unwind(AssertUnwindSafe(|| self.steps(links, stop)));
        let result = ended.unwrap_or_else(|panic| Err(anyhow!("it panicked: {}", panic_message(&*panic))));
        reports.leave(rank, &result);
        result
    }

    fn steps(self, links: Links, stop: &AtomicBool) -> Result<Outcome> {
        let (config, device) = (&self.config, &self.inputs.device);
        let model = match self.model {
            Some(model) => model,
            None => PointNet::new(&config.network(self.outputs), device, DType::F32, config.seed)?,
        };
        let mut member = Member::new(links, config, &self.functions, &model, self.threads)?;
        member.broadcast(&model)?;
        let state = to_device(self.optimizer, device)?;
        let mut optimizer = match member.own_optimizer(|| Ok(state.clone()))? {
            Some(own) => own,
            None => {
                let mut optimizer = build_optimizer(config, model.params())?;
                optimizer.load_state(&state)?;
                optimizer
            }
        };
        drop(state);
        let mut scaler = self.scaler.map(GradScaler::new);
        let inputs = StepInputs {
            share: Some(member.share()),
            ..self.inputs.clone()
        };
        let loader = Loader::new(Arc::new(self.collate), config.workers, config.prefetch).ahead_on(device)?;
        let plan = Plan {
            config,
            train: &self.train,
            lengths: &[],
        };
        let (first, mut skipped, mut step) = self.done;
        for epoch in first..config.epochs {
            let todo = plan.steps(epoch, skipped)?;
            skipped = 0;
            let own = self.functions.shares(&todo, self.rank, config.ranks)?;
            member.doing(&format!("in step {step}, loading"));
            let mut batches = loader.epoch(epoch as u64, own.concat());
            let mut running = Running::default();
            for whole in &todo {
                let batches = batches.loaded().take(whole.len()).collect::<Result<Vec<_>>>()?;
                let mut replica = Replica {
                    model: &model,
                    optimizer: &mut *optimizer,
                    scaler: scaler.as_mut(),
                    running: &mut running,
                    loss: &*self.loss,
                    inputs: &inputs,
                };
                let now = (step, plan.learning_rate(step)?);
                replica.step((whole, &batches), now, Some(&mut member))?;
                step += 1;
                let mine = Requests {
                    stop: stop.load(Ordering::Relaxed),
                    ..Requests::default()
                };
                let all = member.agree(mine)?;
                member.follow(all, &model, &mut running, step)?;
                if all.save || all.stop {
                    member.shared_state(&*optimizer)?;
                }
                if all.stop {
                    return Ok(Outcome::Stopped);
                }
                member.doing(&format!("in step {step}, loading"));
            }
            let end = Requests {
                read: true,
                save: true,
                stop: false,
            };
            member.follow(end, &model, &mut running, step)?;
            member.barrier()?;
            if member.agree(Requests::default())?.save {
                member.shared_state(&*optimizer)?;
            }
        }
        Ok(Outcome::Done)
    }
}

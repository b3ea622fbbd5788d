//! One rank of a run: its steps, and what it agrees on with the others.

use std::{collections::HashMap, sync::Arc, time::Instant};

use anyhow::{Context, Result, ensure};
use candle_core::Tensor;

use super::{
    Links, RankFunctions, RankStats,
    control::Control,
    ending::Reports,
    reduction::{RankShare, Reduction},
    weights::{digest, numbers, set},
};
use crate::{
    kernels::{Share, SumOverRanks},
    model::PointNet,
    optim::Optimizer,
    parallel::gather,
    train::{Config, MicroBatch, Running, Step, Stepped},
};

/// The requests of a rank after a step. All ranks fulfil the requests of any of them after the same step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// To read loss and accuracy.
    pub read: bool,
    /// To save a checkpoint.
    pub save: bool,
    /// To save and stop.
    pub stop: bool,
}

/// One rank.
pub struct Member {
    rank: usize,
    config: Config,
    control: Arc<Control>,
    gradients: Reduction,
    cores: rayon::ThreadPool,
    reports: Reports,
    /// The number of steps so far, and their time in seconds.
    steps: (u64, f64),
}

impl Member {
    /// Creates a rank with `model`.
    pub fn new(links: Links, config: &Config, functions: &RankFunctions, model: &PointNet) -> Result<Self> {
        let rank = links.control.rank();
        let control = Arc::new(Control::new(links.control, links.reports.clone()));
        let both = (links.gradients, control.clone());
        let gradients = Reduction::new(model, both, (config, functions))?;
        let cores = rayon::ThreadPoolBuilder::new()
            .num_threads(links.threads.unwrap_or_else(rayon::current_num_threads))
            .thread_name(move |i| format!("rank-{rank}-core-{i}"))
            .build()
            .context("cannot start the threads of a rank")?;
        Ok(Self {
            rank,
            config: config.clone(),
            control,
            gradients,
            cores,
            reports: links.reports,
            steps: (0, 0.0),
        })
    }

    /// This rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns this rank's share of each batch.
    pub fn share(&self) -> Share {
        let sums = || self.control.clone() as Arc<dyn SumOverRanks>;
        Share {
            rank: self.rank,
            world_size: self.config.ranks,
            sums: self.config.sync_bn.then(sums),
        }
    }

    /// Reports what this rank is about to do, which is also a sign of life.
    pub fn doing(&self, what: &str) {
        self.control.doing(what);
    }

    /// Reports long work that this rank does alone.
    pub fn alive(&self, what: &str) -> Result<()> {
        self.doing(what);
        self.reports.fault().map_or(Ok(()), Err)
    }

    /// Waits until every rank has called it.
    pub fn barrier(&self) -> Result<()> {
        self.control.link().barrier()
    }

    /// Returns the statistics so far, of a rank that steps with `optimizer`.
    pub fn stats(&self, optimizer: &dyn Optimizer) -> Result<RankStats> {
        let (steps, seconds) = self.steps;
        Ok(RankStats {
            steps,
            seconds,
            ..self.gradients.stats(optimizer)?
        })
    }

    /// Broadcasts rank 0's parameters and running statistics to all ranks.
    pub fn broadcast(&self, model: &PointNet) -> Result<()> {
        self.doing("starting, at the broadcast of the weights");
        for (_, var) in model.params().iter().chain(&model.buffers()) {
            let mut numbers = numbers(var)?;
            self.control.link().broadcast(0, &mut numbers)?;
            if self.rank > 0 {
                set(var, numbers)?;
            }
        }
        Ok(())
    }

    /// Returns the optimizer of this rank's part of the parameters if the ranks share the optimizer. It starts from `state`,
    /// the state of an optimizer of all parameters. Called after [`Member::broadcast`].
    pub fn own_optimizer(
        &self,
        state: impl FnOnce() -> Result<HashMap<String, Tensor>>,
    ) -> Result<Option<Box<dyn Optimizer>>> {
        let shards = self.gradients.shards.as_ref();
        shards
            .map(|shards| shards.optimizer(&self.config, &state()?))
            .transpose()
    }

    /// Gathers on rank 0 the state of `optimizer`, which may be shared by the ranks, as that of an optimizer of all
    /// parameters. Returns `None` if it is not shared, or on another rank. Every rank calls it.
    pub fn shared_state(&self, optimizer: &dyn Optimizer) -> Result<Option<Vec<(String, Tensor)>>> {
        let Some(shards) = &self.gradients.shards else {
            return Ok(None);
        };
        self.doing("gathering the optimizer's state");
        let whole = shards.state(optimizer)?;
        Ok((self.rank == 0).then_some(whole))
    }

    /// Takes the step `one` on `micro`, this rank's share of the micro-batches, and averages the gradients over the ranks.
    pub fn step(
        &mut self,
        one: Step,
        micro: &[MicroBatch],
        share: RankShare,
        (step, rate): (u64, f64),
    ) -> Result<Stepped> {
        let began = Instant::now();
        self.control.begin_step(step);
        self.gradients.share = share;
        self.control.within_step("forward and backward");
        let mut one = Step {
            model: one.model,
            optimizer: one.optimizer,
            loss: one.loss,
            clip: one.clip,
            scaler: one.scaler,
            reduce: Some(&mut self.gradients),
        };
        let stepped = self.cores.install(|| one.take(micro, rate));
        let stepped = self.control.restore(stepped)?;
        self.steps.0 += 1;
        self.steps.1 += began.elapsed().as_secs_f64();
        Ok(stepped)
    }

    /// Returns the requests of all ranks after this step.
    pub fn agree(&self, mine: Requests) -> Result<Requests> {
        let [read, save, stop] = self.control.any([mine.read, mine.save, mine.stop])?;
        Ok(Requests { read, save, stop })
    }

    /// Fulfils the agreed requests `requests` after `step` steps: compares the parameters before a checkpoint and every
    /// [`Config::compare_ranks_every`] steps, and sums loss and accuracy over the ranks.
    pub fn follow(
        &self,
        requests: Requests,
        model: &PointNet,
        running: &mut Running,
        step: u64,
    ) -> Result<()> {
        let every = self.config.compare_ranks_every;
        if requests.save || requests.stop || (every > 0 && step.is_multiple_of(every)) {
            self.compare(model, step)?;
        }
        if requests != Requests::default() {
            running.read(&mut |values| self.control.sum_f64(values))?;
        }
        Ok(())
    }

    /// Checks that all ranks have bit-identical parameters after `step` steps.
    fn compare(&self, model: &PointNet, step: u64) -> Result<()> {
        let digests = gather(&**self.control.link(), &[digest(model, self.config.sync_bn)?])?;
        for (rank, digest) in digests.iter().enumerate() {
            ensure!(
                *digest == digests[0],
                "after {step} steps the parameters of rank {rank} and of rank 0 differ: their gradients were not the same. \
                 --compare-ranks-every 1 finds the step"
            );
        }
        Ok(())
    }
}

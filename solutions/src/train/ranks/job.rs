//! The ranks of a run: how rank 0 starts the others, or meets them if they are processes, and how a rank ends.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{OnceLock, atomic::AtomicBool},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use candle_core::DType;

use super::{Links, Member, RankStats, ending::Reports, identity};
use crate::{
    model::PointNet,
    parallel::{
        Algorithm, Processes, panic_message,
        threads::{group, group_with},
    },
    precision::GradScaler,
    train::{Outcome, RunFolder, Running, Trainer, master::build_optimizer, trainer::to_device},
};

/// Starts a thread for each rank of `trainer`'s run except rank 0, whose links it returns. The threads are not joined: a rank that
/// stalls must not stall the job.
pub(in crate::train) fn start_followers(trainer: &Trainer) -> Result<Links> {
    let (world, deadline) = (trainer.config.ranks, trainer.rank_deadline());
    let threads = (rayon::current_num_threads() / world).max(1);
    let reports = Reports::new(world, world);
    let mut links = group(world, Algorithm::Ring, deadline)
        .into_iter()
        .zip(group_with(world, &trainer.functions.all_reduce, deadline))
        .map(|(control, gradients)| Links {
            control: Box::new(control),
            gradients: Box::new(gradients),
            reports: reports.clone(),
            threads: Some(threads),
        });
    let own = links.next().context("the group has no ranks")?;
    for links in links {
        let (rank, reports) = (links.control.rank(), links.reports.clone());
        let mut follower = trainer.follower()?;
        let body = move || {
            // Its end is in the reports. Only rank 0 requests to stop.
            let _ = follower.run_as(links, &AtomicBool::new(false));
            if reports.rank_0_has_stalled(rank, deadline)
                && let Some(fault) = reports.fault()
            {
                (follower.functions.rank_0_has_stalled)(&format!("{fault:#}"));
            }
        };
        let thread = thread::Builder::new().name(format!("rank-{rank}")).spawn(body);
        thread.with_context(|| format!("cannot start rank {rank}"))?;
    }
    Ok(own)
}

impl Trainer {
    /// Makes this process one rank of the run, in place of all of them: [`Trainer::run`] then trains as this rank. All ranks
    /// must have the same configuration, data and checkpoint.
    pub fn join(&mut self, processes: &dyn Processes) -> Result<()> {
        processes.begin(self.rank_deadline());
        let (control, gradients) = (processes.links()?, processes.links()?);
        self.links = Some(Links {
            reports: Reports::new(control.world_size(), 1),
            control,
            gradients,
            threads: None,
        });
        Ok(())
    }

    /// Trains as the rank of `links`, and reports to the other ranks how it ended. If another rank that is a thread failed,
    /// returns its error on rank 0.
    pub(in crate::train) fn run_as(&mut self, links: Links, stop: &AtomicBool) -> Result<Outcome> {
        if links.threads.is_none() {
            identity::check(self, &*links.control)?;
        }
        let (rank, reports) = (links.control.rank(), links.reports.clone());
        let train = AssertUnwindSafe(|| self.train_as(links, stop));
        let result = match rank {
            0 => train(),
            _ => catch_unwind(train)
                .unwrap_or_else(|panic| Err(anyhow!("it panicked: {}", panic_message(&*panic)))),
        };
        // Its links are closed, so ranks that wait for it notice.
        reports.leave(rank, &result);
        if rank == 0 {
            reports.wait(self.rank_deadline() + Duration::from_secs(1), result.is_err());
        }
        match reports.fault() {
            Some(fault) => Err(fault),
            None => result,
        }
    }

    fn train_as(&mut self, links: Links, stop: &AtomicBool) -> Result<Outcome> {
        let mut member = Member::new(links, &self.config, &self.functions, &self.model)?;
        member.broadcast(&self.model)?;
        let state = || Ok(self.optimizer.state()?.into_iter().collect());
        if let Some(own) = member.own_optimizer(state)? {
            self.optimizer = own;
        }
        let outcome = self.epochs(stop, Some(&mut member))?;
        self.rank_stats = member.stats(&*self.optimizer)?;
        Ok(outcome)
    }

    /// Another rank of this run, with a model and an optimizer of its own. It gets its weights from rank 0.
    fn follower(&self) -> Result<Self> {
        let config = self.config.clone();
        let network = config.network(self.outputs());
        let model = PointNet::new(&network, &self.device, DType::F32, config.seed)?;
        let mut optimizer = build_optimizer(&config, model.params())?;
        let state = self.optimizer.state()?.into_iter().collect();
        optimizer.load_state(&to_device(state, &self.device)?)?;
        let now = Instant::now();
        Ok(Self {
            config,
            data: self.data.clone(),
            split: self.split.clone(),
            model,
            folder: RunFolder::of_another(self.folder.path()),
            progress: self.progress.clone(),
            rows: Vec::new(),
            functions: self.functions.clone(),
            rank_stats: RankStats::default(),
            fastest_step: f64::INFINITY,
            number: self.number.clone(),
            categories: self.categories.clone(),
            lengths: self.lengths.clone(),
            steps_per_epoch: OnceLock::new(),
            links: None,
            device: self.device.clone(),
            device_name: self.device_name.clone(),
            optimizer,
            lowering: self.lowering.clone(),
            scaler: self.scaler.as_ref().map(|s| GradScaler::new(s.rule().clone())),
            running: Running::default(),
            todo: self.todo.clone(),
            last_save: now,
            clock: now,
        })
    }

    fn rank_deadline(&self) -> Duration {
        Duration::from_secs_f64(self.config.rank_deadline)
    }
}

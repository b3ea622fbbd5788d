//! The ranks of a run: how rank 0 starts the others, or meets them if they are processes, and how the run ends.

use std::{sync::atomic::AtomicBool, thread, time::Duration};

use anyhow::{Context, Result, anyhow};

use super::{Member, ending::Reports, follow::Follower, identity, links::Links};
use crate::{
    kernels::Share,
    parallel::{
        Algorithm, Processes,
        threads::{group, group_with},
    },
    train::{Outcome, Plan, StepInputs, Trainer, master::build_optimizer, numbers::Number},
};

/// The ranks of a run, from the perspective of rank 0.
pub(in crate::train) struct Job {
    pub member: Member,
    reports: Reports,
    deadline: Duration,
}

impl Job {
    /// Starts the other ranks of `trainer`'s run as threads, or meets them over `processes`, and broadcasts its weights to
    /// them.
    pub fn start(trainer: &Trainer, processes: Option<Links>) -> Result<Self> {
        let deadline = Duration::from_secs_f64(trainer.config.rank_deadline);
        let (links, threads) = match processes {
            Some(links) => {
                identity::check(trainer, &*links.control)?;
                (links, rayon::current_num_threads())
            }
            None => {
                let threads = (rayon::current_num_threads() / trainer.config.ranks).max(1);
                (start_followers(trainer, threads, deadline)?, threads)
            }
        };
        let reports = links.reports.clone();
        let member = Member::new(
            links,
            &trainer.config,
            &trainer.functions,
            &trainer.model,
            threads,
        )?;
        let job = Self {
            member,
            reports,
            deadline,
        };
        match job.member.broadcast(&trainer.model) {
            Ok(()) => Ok(job),
            Err(error) => Err(job.blame(error)),
        }
    }

    /// [`Self::end`] of an error.
    pub fn blame(self, error: anyhow::Error) -> anyhow::Error {
        match self.end(Err::<(), _>(error)) {
            Err(error) => error,
            Ok(()) => anyhow!("the ranks ended"),
        }
    }

    /// Waits until the other ranks have ended. If one of them failed, returns its error instead of `result`.
    pub fn end<T>(self, result: Result<T>) -> Result<T> {
        let Self {
            member,
            reports,
            deadline,
        } = self;
        reports.leave(0, &result);
        // Its links close, so ranks that wait for it notice.
        drop(member);
        reports.wait(deadline + Duration::from_secs(1), result.is_err());
        match reports.fault() {
            Some(fault) => Err(fault),
            None => result,
        }
    }
}

/// Starts a thread for each rank except rank 0, whose links it returns.
fn start_followers(trainer: &Trainer, threads: usize, deadline: Duration) -> Result<Links> {
    let world = trainer.config.ranks;
    let reports = Reports::new(world);
    let mut links = group(world, Algorithm::Ring, deadline)
        .into_iter()
        .zip(group_with(world, &trainer.functions.all_reduce, deadline))
        .map(|(control, gradients)| Links {
            control: Box::new(control),
            gradients: Box::new(gradients),
            reports: reports.clone(),
            is_process: false,
        });
    let own = links.next().context("the group has no ranks")?;
    for (rank, links) in (1..).zip(links) {
        spawn(Follower::new(trainer, rank, threads, reports.clone())?, links)?;
    }
    Ok(own)
}

/// A thread for a rank other than rank 0. It is not joined: a rank that stalls must not stall the job.
fn spawn(follower: Follower, links: Links) -> Result<()> {
    let rank = follower.rank;
    let body = move || {
        let reports = follower.reports.clone();
        let (stuck, deadline) = (follower.functions.rank_0_has_stalled, follower.deadline());
        // Its end is in the reports. Only rank 0 requests to stop.
        let _ = follower.run(links, &AtomicBool::new(false));
        if reports.rank_0_has_stalled(rank, deadline)
            && let Some(fault) = reports.fault()
        {
            stuck(&format!("{fault:#}"));
        }
    };
    let named = thread::Builder::new().name(format!("rank-{rank}"));
    named
        .spawn(body)
        .with_context(|| format!("cannot start rank {rank}"))?;
    Ok(())
}

impl Links {
    /// The links of a process that is the only rank.
    pub fn alone(deadline: f64) -> Result<Self> {
        let link = || {
            let rank = group(1, Algorithm::Ring, Duration::from_secs_f64(deadline)).pop();
            rank.map(Box::new).context("the group has no ranks")
        };
        Ok(Self {
            control: link()?,
            gradients: link()?,
            reports: Reports::new(1),
            is_process: true,
        })
    }

    /// The links of a rank that is a process.
    pub fn of_process(processes: &dyn Processes) -> Result<Self> {
        let (control, gradients) = (processes.links()?, processes.gradient_links()?);
        let reports = Reports::of_process(control.rank(), control.world_size());
        Ok(Self {
            control,
            gradients,
            reports,
            is_process: true,
        })
    }
}

impl Trainer {
    /// Makes this process one rank of the run, in place of all of them: [`Trainer::run`] then trains on rank 0 and
    /// follows it on the others. All ranks must have the same configuration, data and checkpoint.
    ///
    /// # Errors
    /// Returns an error if the engine cannot create the links.
    pub fn join(&mut self, processes: &dyn Processes) -> Result<()> {
        processes.begin(Duration::from_secs_f64(self.config.rank_deadline));
        self.links = Some(Links::of_process(processes)?);
        Ok(())
    }

    /// What a rank other than rank 0 does if the ranks are processes.
    pub(in crate::train) fn follow(&mut self, links: Links, stop: &AtomicBool) -> Result<Outcome> {
        identity::check(self, &*links.control)?;
        let (rank, reports) = (links.control.rank(), links.reports.clone());
        let threads = rayon::current_num_threads();
        let follower = Follower::new(self, rank, threads, reports.clone())?.on(self.model.clone());
        // The follower has an optimizer of its own.
        self.optimizer = build_optimizer(&self.config, Vec::new())?;
        let result = follower.run(links, stop);
        match reports.fault() {
            Some(fault) => Err(fault),
            None => result,
        }
    }

    /// Returns how batches become micro-batches on the rank with `share`.
    pub(in crate::train) fn step_inputs(&self, share: Option<Share>) -> StepInputs {
        StepInputs {
            config: self.config.clone(),
            device: self.device.clone(),
            lowering: self.lowering.clone(),
            class_weights: self.class_weights(),
            species: self.data.records.iter().map(|r| r.species).collect(),
            labels: self.number.as_ref().map(Number::labels),
            categories: self.categories.clone(),
            share,
        }
    }

    pub(in crate::train) fn plan(&self) -> Plan<'_> {
        Plan {
            config: &self.config,
            train: &self.split.train,
            lengths: &self.lengths,
        }
    }
}

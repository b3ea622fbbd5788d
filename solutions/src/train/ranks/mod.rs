//! A run of several ranks: threads of this process that share each batch, each with its own copy of the model.
//!
//! Rank 0 is the thread that called [`super::Trainer::run`]: it alone evaluates, saves and reports. The other ranks follow:
//! they go through the same plan, take their share of each batch, and synchronise with rank 0 in batch norm, in the
//! all-reduce of the gradients, and after each step. Two groups of links carry this, so that gradients may be sent while batch norm sums.

mod activity;
mod average;
mod control;
mod ending;
mod follow;
pub mod measure;
mod member;
mod stats;
mod weights;

use std::{sync::Arc, thread, time::Duration};

use anyhow::{Context, Result, anyhow, ensure};
use candle_core::Tensor;

use super::{Plan, StepInputs, Trainer};
use crate::{
    kernels::Share,
    parallel::{
        Algorithm, AllReduce, Bucket, BucketSizes, Collective, Kind, Rank, average_gradients, buckets,
        ring_all_reduce, share_of_batch, share_of_epoch,
        threads::{group, group_with},
    },
};
use ending::Reports;
use follow::Follower;
pub(super) use member::{Member, Wishes};
pub use stats::RankStats;

/// The functions by which ranks share batches and average gradients. The lesson's experiment replaces them by a student's
/// functions.
#[derive(Clone)]
#[allow(clippy::type_complexity, reason = "a signature is clearest written out")]
pub struct Pieces {
    /// A rank's share of an epoch, as [`share_of_epoch`].
    pub share: fn(&[usize], usize, usize, bool) -> Vec<usize>,
    /// Assigns gradients to buckets, as [`buckets`].
    pub buckets: fn(&[(usize, Kind)], BucketSizes) -> Vec<Bucket>,
    /// Sizes of the buckets.
    pub sizes: BucketSizes,
    /// Sums a bucket over the ranks, as [`ring_all_reduce`].
    pub all_reduce: AllReduce,
    /// Without overlap: how all gradients are averaged at once, as [`average_gradients`].
    pub average: fn(&dyn Collective, &mut [Tensor]) -> Result<()>,
    /// Sends a bucket while the backward pass goes on; otherwise all gradients after its end.
    pub overlap: bool,
    /// Called with the reason if rank 0 itself gives no sign of life: it is the caller's thread, which no other thread can
    /// end. Does nothing by default; a program may print the reason and exit.
    pub rank_0_is_stuck: fn(&str),
}

impl Default for Pieces {
    fn default() -> Self {
        Self {
            share: share_of_epoch,
            buckets,
            sizes: BucketSizes::default(),
            all_reduce: Arc::new(ring_all_reduce),
            average: average_gradients,
            overlap: true,
            rank_0_is_stuck: |_| {},
        }
    }
}

impl Pieces {
    /// Rank `rank`'s share of each micro-batch of each step.
    pub(super) fn shares(
        &self,
        steps: &[Vec<Vec<usize>>],
        rank: usize,
        world: usize,
    ) -> Result<Vec<Vec<Vec<usize>>>> {
        let share = |batch: &Vec<usize>| {
            let records = batch.len();
            ensure!(
                records >= world,
                "a batch of {records} clouds cannot be shared by {world} ranks: use fewer ranks, or no --accumulate"
            );
            let mine = share_of_batch(batch, rank, world, &self.share);
            ensure!(
                !mine.is_empty(),
                "rank {rank} of {world} has no share of a batch of {records} clouds"
            );
            Ok(mine)
        };
        steps
            .iter()
            .map(|micro| micro.iter().map(share).collect())
            .collect()
    }
}

/// One rank's links to the others.
pub(super) struct Links {
    control: Rank,
    gradients: Rank,
    reports: Reports,
}

/// The ranks of a run, from the perspective of rank 0.
pub(super) struct Job {
    pub member: Member,
    reports: Reports,
    deadline: Duration,
}

impl Job {
    /// Starts the other ranks of `trainer`'s run as threads, and broadcasts its weights to them.
    pub fn start(trainer: &Trainer) -> Result<Self> {
        let deadline = Duration::from_secs_f64(trainer.config.rank_deadline);
        let threads = (rayon::current_num_threads() / trainer.config.ranks).max(1);
        let links = start_followers(trainer, threads, deadline)?;
        let reports = links.reports.clone();
        let member = Member::new(links, &trainer.config, &trainer.pieces, &trainer.model, threads)?;
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
        .zip(group_with(world, &trainer.pieces.all_reduce, deadline))
        .map(|(control, gradients)| Links {
            control,
            gradients,
            reports: reports.clone(),
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
        let (stuck, deadline) = (follower.pieces.rank_0_is_stuck, follower.deadline());
        follower.run(links);
        if reports.rank_0_is_stuck(rank, deadline)
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

impl Trainer {
    /// Returns how batches become micro-batches on the rank with `share`.
    pub(super) fn step_inputs(&self, share: Option<Share>) -> StepInputs {
        StepInputs {
            config: self.config.clone(),
            device: self.device.clone(),
            lowering: self.lowering.clone(),
            class_weights: self.class_weights(),
            species: self.data.records.iter().map(|r| r.species).collect(),
            share,
        }
    }

    pub(super) fn plan(&self) -> Plan<'_> {
        Plan {
            config: &self.config,
            train: &self.split.train,
            lengths: &self.lengths,
        }
    }
}

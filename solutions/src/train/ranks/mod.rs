//! A run of several ranks: threads of this process, or processes, that share each batch, each with its own copy of the model.
//!
//! Rank 0 is the thread that called [`super::Trainer::run`]: it alone evaluates, saves and tells. The others follow: they
//! go through the same plan, take their share of each batch, and meet rank 0 in batch norm, in the gradients, and after
//! each step. Two groups of links carry this, so that gradients may be under way while batch norm sums.

mod control;
mod ending;
mod follow;
pub mod measure;
mod member;
pub mod processes;
mod weights;

use std::{
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, ensure};
use candle_core::Tensor;

use super::{Plan, Trainer};
use crate::parallel::{
    Algorithm, AllReduce, Bucket, BucketSizes, Collective, Kind, Rank, average_gradients, buckets,
    ring_all_reduce, share_of_batch, share_of_epoch,
    threads::{group, group_with},
};
use ending::Reports;
use follow::Follower;
pub use member::RankStats;
pub(super) use member::{Meeting, Member};
use processes::{Links, Others};

/// What the ranks do with batches and gradients. The lesson's experiment puts a student's functions here.
#[derive(Clone)]
#[allow(clippy::type_complexity, reason = "a signature is clearest written out")]
pub struct Pieces {
    /// A rank's share of an epoch, as [`share_of_epoch`].
    pub share: fn(&[usize], usize, usize, bool) -> Vec<usize>,
    /// Which gradients go together, as [`buckets`].
    pub buckets: fn(&[(usize, Kind)], BucketSizes) -> Vec<Bucket>,
    /// How large the buckets grow.
    pub sizes: BucketSizes,
    /// How they are summed, as [`ring_all_reduce`].
    pub all_reduce: AllReduce,
    /// Without overlap: how all gradients are averaged at once, as [`average_gradients`].
    pub average: fn(&dyn Collective, &mut [Tensor]) -> Result<()>,
    /// Sends a bucket while the backward walk goes on; else all gradients after its end.
    pub overlap: bool,
    /// Called with the reason where rank 0 itself gives no sign: it is the program's own thread, and nobody waits for the
    /// others. Ends the program unless told otherwise.
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
            rank_0_is_stuck: |why| {
                eprintln!("error: {why}");
                std::process::exit(1);
            },
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
                "a batch of {records} clouds cannot be shared by {world} ranks: take fewer ranks, or no --accumulate"
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

/// The ranks of a run under way, as rank 0 sees them.
pub(super) struct Job {
    pub member: Member,
    reports: Reports,
    deadline: Duration,
}

impl Job {
    /// Starts the other ranks where `trainer` stands, or waits for them, and gives them its weights.
    pub fn start(trainer: &mut Trainer) -> Result<Self> {
        let deadline = Duration::from_secs_f64(trainer.config.rank_deadline);
        let links = match std::mem::take(&mut trainer.others) {
            Others::Threads => threads(trainer, deadline)?,
            Others::Processes(mut host) => host.gather(trainer)?,
        };
        let Links {
            control,
            gradients,
            reports,
        } = links;
        let member = Member::new(
            trainer.meeting(),
            &trainer.model,
            control,
            gradients,
            reports.clone(),
        )?;
        let mut job = Self {
            member,
            reports,
            deadline,
        };
        match job.member.broadcast(&trainer.model) {
            Ok(()) => Ok(job),
            Err(error) => Err(job.blame(error)),
        }
    }

    /// As [`Self::end`], of an error.
    pub fn blame(self, error: anyhow::Error) -> anyhow::Error {
        match self.end(Err::<(), _>(error)) {
            Err(error) => error,
            Ok(()) => anyhow!("the ranks ended"),
        }
    }

    /// Waits for the others' end, and says whose fault it was where `result` or theirs is an error.
    pub fn end<T>(self, result: Result<T>) -> Result<T> {
        let Self {
            member,
            reports,
            deadline,
        } = self;
        reports.leave(0, &result);
        // Its links close, and whoever waits for it knows.
        drop(member);
        reports.wait(deadline + Duration::from_secs(1), result.is_err());
        match reports.fault() {
            Some(fault) => Err(fault),
            None => result,
        }
    }
}

/// Starts a thread for each other rank of `trainer`'s run.
fn threads(trainer: &Trainer, deadline: Duration) -> Result<Links> {
    let world = trainer.config.ranks;
    let mut ends: Vec<(Rank, Rank)> = group(world, Algorithm::Ring, deadline)
        .into_iter()
        .zip(group_with(world, &trainer.pieces.all_reduce, deadline))
        .collect();
    let reports = Reports::new(world);
    // From the last on, so that rank 0's ends are left.
    while ends.len() > 1 {
        let Some((control, gradients)) = ends.pop() else {
            break;
        };
        let follower = Follower::new(trainer, ends.len(), reports.clone())?;
        spawn(follower, control, gradients)?;
    }
    let (control, gradients) = ends.pop().context("a group without ranks")?;
    Ok(Links {
        control,
        gradients,
        reports,
    })
}

/// A thread for a rank that is not rank 0. It is not waited for: one that stalls must not stall the job.
fn spawn(follower: Follower, control: Rank, gradients: Rank) -> Result<()> {
    let rank = follower.rank;
    let body = move || {
        let reports = follower.reports.clone();
        let (stuck, deadline) = (follower.pieces.rank_0_is_stuck, follower.deadline());
        // Rank 0 alone is asked to stop.
        let never = AtomicBool::new(false);
        // Who waits for this rank reads its report.
        let _ = follower.run(control, gradients, &never);
        if reports.rank_0_is_stuck(rank, deadline)
            && let Some(fault) = reports.fault()
        {
            stuck(&format!("{fault:#}"));
        }
    };
    let named = thread::Builder::new().name(format!("rank-{rank}"));
    named
        .spawn(body)
        .with_context(|| format!("rank {rank} could not be started"))?;
    Ok(())
}

impl Trainer {
    /// How the ranks of this run meet.
    fn meeting(&self) -> Meeting {
        Meeting {
            config: self.config.clone(),
            pieces: self.pieces.clone(),
            class_weights: self.class_weights(),
            species: self.data.records.iter().map(|r| r.species).collect(),
            device: self.device.clone(),
            threads: self.rank_threads.unwrap_or_else(|| {
                let all = rayon::current_num_threads();
                (all / self.config.ranks).max(1)
            }),
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

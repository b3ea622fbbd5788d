//! Trains a split model over ranks that are threads, and measures it.

use std::{thread, time::Duration};

use anyhow::{Result, anyhow, ensure};
use candle_core::{Device, Tensor};
use canopy_data::Philox;

use super::{Bytes, MicroBatch, Part, Sent, Setting, pipeline::Timed};
use crate::{
    parallel::{Algorithm, Link, Lost, Rank, threads::group},
    train::memory,
};

/// Much longer than a step.
const DEADLINE: Duration = Duration::from_secs(300);

/// Measurements of one rank.
#[derive(Clone, Debug)]
pub struct RankRun {
    /// The loss of each step; only on ranks that have the last stage.
    pub losses: Vec<Option<f64>>,
    /// What it kept, counted from its tensors.
    pub bytes: Bytes,
    /// What it sent in a step.
    pub sent: Sent,
    /// Time of each step, in seconds.
    pub seconds: Vec<f64>,
    /// When each slot of the schedule ran, for each step.
    pub times: Vec<Vec<Timed>>,
}

/// Measurements of all ranks.
#[derive(Clone, Debug)]
pub struct Run {
    /// By rank.
    pub ranks: Vec<RankRun>,
    /// The most that all ranks together had allocated, in bytes; `None` if this build does not count its allocations.
    pub allocated: Option<u64>,
}

impl Run {
    /// The mean loss of each step.
    pub fn losses(&self, setting: &Setting) -> Vec<f64> {
        let steps = self.ranks.first().map_or(0, |r| r.losses.len());
        // Ranks that share a layer or a cloud know the same loss.
        let once = |&rank: &usize| {
            let position = setting.mesh.position(rank);
            position.tensor == 0 && position.sequence == 0
        };
        let of = |step: usize| {
            let ranks = (0..self.ranks.len()).filter(once);
            ranks.filter_map(|rank| self.ranks[rank].losses[step]).sum()
        };
        (0..steps).map(of).collect()
    }

    /// The fastest step and its time in seconds. A step ends when its last rank ends.
    pub fn fastest(&self) -> (usize, f64) {
        let steps = self.ranks.first().map_or(0, |r| r.seconds.len());
        let of = |step: usize| self.ranks.iter().map(|r| r.seconds[step]).fold(0.0, f64::max);
        let all = (0..steps).map(|step| (step, of(step)));
        all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    }
}

/// Takes `steps` steps on made-up clouds, each rank on a thread of its own.
///
/// # Errors
/// Returns an error if the setting does not fit together, or if a rank fails: the error of the first rank that failed by
/// itself.
pub fn run_split(setting: &Setting, steps: usize, learning_rate: f64) -> Result<Run> {
    setting.validate()?;
    ensure!(steps >= 1, "there must be at least one step");
    let before = memory::held().unwrap_or(0);
    let ranks = on_ranks(setting.mesh.ranks(), |rank| {
        run_rank(setting, rank, steps, learning_rate)
    })?;
    let (ranks, peaks): (Vec<RankRun>, Vec<Option<u64>>) = ranks.into_iter().unzip();
    Ok(Run {
        ranks,
        allocated: peaks
            .into_iter()
            .max()
            .flatten()
            .map(|peak| peak.saturating_sub(before)),
    })
}

/// Returns the measurements of a rank, and of rank 0 also the most bytes that all ranks had allocated in a step.
fn run_rank(
    setting: &Setting,
    rank: Rank,
    steps: usize,
    learning_rate: f64,
) -> Result<(RankRun, Option<u64>)> {
    let is_first = Link::rank(&rank) == 0;
    let mut part = Part::new(setting, rank)?;
    let mut run = RankRun {
        losses: Vec::new(),
        bytes: Bytes::default(),
        sent: Sent::default(),
        seconds: Vec::new(),
        times: Vec::new(),
    };
    let mut most = None;
    for step in 0..steps {
        let batch = |micro| made_clouds(setting, step, micro);
        // Between two barriers, so that the steps of all ranks are measured, and nothing else.
        let one_step = || -> Result<_> {
            part.barrier()?;
            let before = part.groups().traffic();
            let (passed, seconds) = part.step(&batch, learning_rate)?;
            let sent = part.groups().traffic().since(&before);
            part.barrier()?;
            Ok((passed, seconds, sent))
        };
        let (result, peak) = match is_first {
            true => memory::measured(one_step),
            false => ({ one_step }(), None),
        };
        most = most.max(peak);
        let (passed, seconds, sent) = result?;
        run.sent = sent;
        run.losses.push(passed.loss);
        run.seconds.push(seconds);
        if step + 1 == steps {
            run.bytes = part.bytes(&passed)?;
        }
        run.times.push(passed.times);
    }
    Ok((run, most))
}

/// Runs `work` on `world` ranks, each a thread with one core for its operators, and returns the results by rank.
///
/// # Errors
/// Returns the error of the first rank that failed by itself, and not because another one had.
pub fn on_ranks<T: Send>(world: usize, work: impl Fn(Rank) -> Result<T> + Sync) -> Result<Vec<T>> {
    let alone = |rank: Rank| {
        let cores = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        cores.install(|| work(rank))
    };
    let results: Vec<Result<T>> = thread::scope(|scope| {
        let ranks = group(world, Algorithm::Ring, DEADLINE).into_iter();
        let threads: Vec<_> = ranks.map(|rank| scope.spawn(move || alone(rank))).collect();
        let join = |t: thread::ScopedJoinHandle<'_, Result<T>>| t.join();
        let results = threads.into_iter().map(join);
        results
            .map(|r| r.unwrap_or_else(|_| Err(anyhow!("a rank panicked"))))
            .collect()
    });
    let (mut done, mut lost) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(value) => done.push(value),
            Err(error) if error.chain().any(|cause| cause.is::<Lost>()) => lost = Some(error),
            Err(error) => return Err(error),
        }
    }
    lost.map_or(Ok(done), Err)
}

/// Returns micro-batch `micro` of step `step`: boxes filled with points, whose height depends on their class.
///
/// # Errors
/// Returns an error if candle fails.
pub fn made_clouds(setting: &Setting, step: usize, micro: usize) -> Result<MicroBatch> {
    let Setting {
        clouds,
        points,
        ref network,
        ..
    } = *setting;
    let mut random = Philox::new(setting.seed, (step as u64) << 32 | micro as u64);
    let labels: Vec<u32> = (0..clouds)
        .map(|_| random.below(network.classes) as u32)
        .collect();
    let mut values = Vec::with_capacity(clouds * points * network.inputs);
    for &label in &labels {
        let height = (1.0 + label as f32) / network.classes as f32;
        for _ in 0..points {
            let mut point = (0..network.inputs).map(|_| random.uniform() * 2.0 - 1.0);
            let first = point.next().unwrap_or(0.0);
            values.push(first * height);
            values.extend(point);
        }
    }
    let size = (clouds, points, network.inputs);
    Ok((Tensor::from_vec(values, size, &Device::Cpu)?, labels))
}

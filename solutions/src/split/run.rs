//! Trains a split model over ranks that are threads, and measures it.

use std::{thread, time::Duration};

use anyhow::{Result, anyhow, ensure};
use candle_core::{Device, Tensor};
use canopy_data::Philox;
use serde::{Deserialize, Serialize};

use super::{Bytes, MicroBatch, Part, Sent, Setting, pipeline::Timed};
use crate::{
    parallel::{Algorithm, Collective, Link, Lost, Processes, Rank, threads::group},
    train::memory,
};

/// Much longer than a step.
const DEADLINE: Duration = Duration::from_secs(300);

/// Measurements of one rank.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// The most that its process had allocated, in bytes, if it has one of its own and this build counts its allocations.
    pub allocated: Option<u64>,
}

/// Measurements of all ranks.
#[derive(Clone, Debug)]
pub struct Run {
    /// By rank.
    pub ranks: Vec<RankRun>,
    /// The most that all ranks together had allocated, in bytes; `None` if they are processes, or if this build does not count
    /// its allocations.
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
    let mut ranks = on_ranks(setting.mesh.ranks(), |rank| {
        // Rank 0 measures what all of them have.
        let measures = (rank.rank() == 0).then_some(before);
        run_rank(setting, Box::new(rank), (steps, learning_rate), measures)
    })?;
    let allocated = ranks.first_mut().and_then(|first| first.allocated.take());
    Ok(Run { ranks, allocated })
}

/// Takes `steps` steps as one of `processes`, one rank each with one core for its operators. Every rank makes the same call.
/// Returns the measurements of all ranks on rank 0.
///
/// # Errors
/// Returns an error if the setting does not fit together or to the number of processes, or if candle fails.
pub fn run_split_over(
    setting: &Setting,
    processes: &dyn Processes,
    steps: usize,
    learning_rate: f64,
) -> Result<Option<Run>> {
    setting.validate()?;
    ensure!(steps >= 1, "there must be at least one step");
    let (training, results) = (processes.links()?, processes.links()?);
    processes.begin(DEADLINE);
    let before = memory::held().unwrap_or(0);
    let cores = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let own = cores.install(|| run_rank(setting, training, (steps, learning_rate), Some(before)))?;
    let ranks = gathered(&*results, own)?;
    Ok(ranks.map(|ranks| Run {
        ranks,
        allocated: None,
    }))
}

/// Sends what a rank measured to rank 0, as JSON whose bytes travel as numbers, and returns that of all ranks there.
fn gathered(link: &dyn Collective, own: RankRun) -> Result<Option<Vec<RankRun>>> {
    if link.rank() > 0 {
        let text = serde_json::to_vec(&own)?;
        let numbers: Vec<f32> = text.iter().map(|&byte| f32::from(byte)).collect();
        // Up to 2²⁴ is exact.
        link.send(0, &[numbers.len() as f32])?;
        link.send(0, &numbers)?;
        link.barrier()?;
        return Ok(None);
    }
    let mut ranks = vec![own];
    for rank in 1..link.world_size() {
        let mut length = [0.0];
        link.receive(rank, &mut length)?;
        let mut numbers = vec![0.0; length[0] as usize];
        link.receive(rank, &mut numbers)?;
        let text: Vec<u8> = numbers.iter().map(|&number| number as u8).collect();
        ranks.push(serde_json::from_slice(&text)?);
    }
    link.barrier()?;
    Ok(Some(ranks))
}

/// Returns the measurements of a rank. `measures`: measure what is allocated, minus this many bytes.
fn run_rank(
    setting: &Setting,
    whole: Box<dyn Collective>,
    (steps, learning_rate): (usize, f64),
    measures: Option<u64>,
) -> Result<RankRun> {
    let mut part = Part::new(setting, whole)?;
    let mut run = RankRun {
        losses: Vec::new(),
        bytes: Bytes::default(),
        sent: Sent::default(),
        seconds: Vec::new(),
        times: Vec::new(),
        allocated: None,
    };
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
        let (result, peak) = match measures {
            Some(_) => memory::measured(one_step),
            None => ({ one_step }(), None),
        };
        let peak = peak
            .zip(measures)
            .map(|(peak, before)| peak.saturating_sub(before));
        run.allocated = run.allocated.max(peak);
        let (passed, seconds, sent) = result?;
        run.sent = sent;
        run.losses.push(passed.loss);
        run.seconds.push(seconds);
        if step + 1 == steps {
            run.bytes = part.bytes(&passed)?;
        }
        run.times.push(passed.times);
    }
    Ok(run)
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

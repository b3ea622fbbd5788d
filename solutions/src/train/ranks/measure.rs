//! Short runs of one and of several ranks that measure their speed and communication, for `canopy bench scale` and the
//! lesson's experiment.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use candle_core::Var;
use canopy_data::{Dataset, split::Split};

use super::{RankFunctions, RankStats};
use crate::{
    device::Chosen,
    parallel::Processes,
    train::{Config, RunFolder, Trainer},
};

/// Results of a short run.
#[derive(Clone, Debug)]
pub struct ShortRun {
    /// Number of ranks.
    pub ranks: usize,
    /// Time of the fastest step, loading included, in seconds: the least disturbed by other work on the machine.
    pub step: f64,
    /// Number of steps.
    pub steps: u64,
    /// Training loss of the last epoch.
    pub loss: f64,
    /// Communication cost; zero for one rank.
    pub stats: RankStats,
    /// All parameters at the end, concatenated.
    pub params: Vec<f32>,
}

impl ShortRun {
    /// Returns the largest absolute difference of a parameter between two runs.
    pub fn apart(&self, other: &Self) -> f32 {
        let pairs = self.params.iter().zip(&other.params);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }
}

/// How a short run is started.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    /// Ranks are threads.
    Threads,
    /// Ranks are threads, and the last bit of each parameter is flipped first, which shows the effect of rounding on a run.
    OtherBits,
    /// Ranks are processes, all of which call [`short_run`]. What it returns is of interest on rank 0.
    Processes(&'a dyn Processes),
}

/// Trains on `records` with `config`, on the CPU with one thread per rank, and keeps nothing on disk.
///
/// # Errors
/// Returns an error if training fails.
pub fn short_run(
    config: &Config,
    data: &Dataset,
    records: &[usize],
    functions: RankFunctions,
    start: Start,
) -> Result<ShortRun> {
    let chosen = Chosen {
        device: candle_core::Device::Cpu,
        name: "cpu".into(),
        reason: None,
    };
    short_run_on(chosen, config, (data, records), functions, start)
}

/// As [`short_run`], on the device `chosen`.
///
/// # Errors
/// Returns an error if training fails.
pub fn short_run_on(
    chosen: Chosen,
    config: &Config,
    (data, records): (&Dataset, &[usize]),
    functions: RankFunctions,
    start: Start,
) -> Result<ShortRun> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder for a short run")?;
    let run = RunFolder::create(&folder.path().join("run"))?;
    let split = Split {
        train: records.to_vec(),
        ..Split::default()
    };
    let mut trainer = Trainer::new(config.clone(), data.clone(), split, chosen, run)?;
    trainer.functions = functions;
    match start {
        Start::Processes(processes) => trainer.join(processes)?,
        Start::Threads | Start::OtherBits => {}
    }
    let other_bits = matches!(start, Start::OtherBits);
    for (_, var) in trainer.model.params().iter().filter(|_| other_bits) {
        let changed = |v: f32| f32::from_bits(v.to_bits() ^ u32::from(v != 0.0));
        let other = super::weights::numbers(var)?.into_iter().map(changed);
        super::weights::set(var, other.collect())?;
    }
    let stop = AtomicBool::new(false);
    // One thread per rank, also with a single rank.
    let cores = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    cores.install(|| trainer.run(&stop))?;
    let flat = |(_, var): (String, Var)| super::weights::numbers(&var);
    let params = trainer
        .model
        .params()
        .into_iter()
        .map(flat)
        .collect::<Result<Vec<_>>>()?;
    Ok(ShortRun {
        ranks: config.ranks,
        step: trainer.fastest_step,
        steps: trainer.progress.step,
        loss: trainer.rows.last().map_or(f64::NAN, |r| r.train_loss),
        stats: trainer.rank_stats,
        params: params.concat(),
    })
}

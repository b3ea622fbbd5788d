//! Short runs of one and of several ranks that measure their speed and communication, for `canopy bench scale` and the
//! lesson's experiment.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use canopy_data::{Dataset, split::Split};

use super::{
    RankFunctions, RankStats,
    weights::{numbers, set},
};
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

/// Trains on `records` with `config`, on the device `chosen` with one CPU thread per rank, and keeps nothing on disk.
pub fn short_run(
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
        Start::Threads => {}
        Start::Processes(processes) => trainer.join(processes)?,
        Start::OtherBits => {
            let changed = |v: f32| f32::from_bits(v.to_bits() ^ u32::from(v != 0.0));
            for (_, var) in trainer.model.params() {
                set(&var, numbers(&var)?.into_iter().map(changed).collect())?;
            }
        }
    }
    let stop = AtomicBool::new(false);
    // One thread per rank, also with a single rank.
    let cores = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    cores.install(|| trainer.run(&stop))?;
    let params = trainer.model.params();
    let params = params
        .iter()
        .map(|(_, var)| numbers(var))
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

//! Short runs of one and of several ranks, to see what the ranks gain and cost: for `canopy bench parallel` and for the
//! lesson's experiment.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use candle_core::Var;
use canopy_data::{Dataset, split::Split};

use super::{Pieces, RankStats};
use crate::{
    device::Chosen,
    train::{Config, RunFolder, Trainer},
};

/// What a short run came to.
#[derive(Clone, Debug)]
pub struct ShortRun {
    /// Ranks that took part.
    pub ranks: usize,
    /// Seconds of the fastest step, its loading included: others were held up by whatever else the machine does.
    pub step: f64,
    /// Steps taken in all.
    pub steps: u64,
    /// Loss of the last epoch.
    pub loss: f64,
    /// What the meeting cost; nothing of a run of one rank.
    pub stats: RankStats,
    /// The parameters at the end, one after another.
    pub params: Vec<f32>,
}

impl ShortRun {
    /// Greatest difference of any parameter to another run's.
    pub fn apart(&self, other: &Self) -> f32 {
        let pairs = self.params.iter().zip(&other.params);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }
}

/// Trains on `records` as `config` says, on the CPU, each rank on one core, and keeps nothing on disk. With `other_bits` the
/// last bit of each parameter is changed at the start: the effect of rounding alone on a run.
///
/// # Errors
/// The trainer's.
pub fn short_run(
    config: &Config,
    data: &Dataset,
    records: &[usize],
    pieces: Pieces,
    other_bits: bool,
) -> Result<ShortRun> {
    let folder = tempfile::tempdir().context("a folder for a short run could not be made")?;
    let run = RunFolder::create(&folder.path().join("run"))?;
    let split = Split {
        train: records.to_vec(),
        ..Split::default()
    };
    let chosen = Chosen {
        device: candle_core::Device::Cpu,
        name: "cpu".into(),
        reason: None,
    };
    let mut trainer = Trainer::new(config.clone(), data.clone(), split, chosen, run)?;
    trainer.pieces = pieces;
    for (_, var) in trainer.model.params().iter().filter(|_| other_bits) {
        let changed = |v: f32| f32::from_bits(v.to_bits() ^ u32::from(v != 0.0));
        let other = super::weights::numbers(var)?.into_iter().map(changed);
        super::weights::set(var, other.collect())?;
    }
    let stop = AtomicBool::new(false);
    // As many threads as there are ranks, so that each has one: also where there is only one.
    let cores = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    match config.ranks {
        1 => cores.install(|| trainer.run(&stop))?,
        _ => trainer.run(&stop)?,
    };
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

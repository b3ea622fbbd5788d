//! The short trainings of `canopy bench scale`.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use candle_core::{DType, Device};
use canopy_data::Dataset;
use serde::{Deserialize, Serialize};

use super::Args;
use crate::{
    device::Chosen,
    model::PointNet,
    parallel::{Algorithm, AllReduce, Cost, ring_all_reduce, ring_seconds},
    train::{
        Config,
        ranks::{
            RankFunctions,
            measure::{ShortRun, Start, short_run_on},
        },
        short::Forest,
    },
};

/// The network and the data of the trainings.
pub struct Work {
    base: Config,
    forest: Dataset,
    records: Vec<usize>,
    steps: usize,
    /// The link that all-reduces between threads pretend to cross.
    link: Option<Cost>,
    pub chosen: Chosen,
}

/// A step of several ranks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub ranks: usize,
    /// Clouds in the batch of all ranks.
    pub batch: usize,
    pub step_ms: f64,
    /// The same with all gradients reduced after the backward pass, without overlap.
    pub reduced_after_ms: f64,
    /// How many times as long the step without overlap takes: above 1, overlap wins.
    pub overlap_gain: f64,
    pub efficiency: f64,
    /// What a rank sends in a step, in MB: gradients, and everything else.
    pub gradients_mb: f64,
    pub others_mb: f64,
    pub all_reduce_ms: f64,
    /// The part of it after the backward pass.
    pub waited_ms: f64,
}

impl Work {
    /// Opens the built-in forest with the network of `args`, to train on the device `chosen`.
    ///
    /// # Errors
    /// Returns the errors of [`Forest::open`].
    pub fn open(args: &Args, chosen: Chosen) -> Result<Self> {
        let base = Config {
            model: args.model,
            points: args.points,
            width: args.width,
            epochs: 2,
            ..Config::default()
        };
        let Forest {
            config, data, split, ..
        } = Forest::open(base)?;
        Ok(Self {
            base: config,
            forest: data,
            records: split.train,
            steps: args.steps,
            link: args.emulated(),
            chosen,
        })
    }

    /// The size of the network's gradients.
    pub fn gradient_bytes(&self) -> Result<usize> {
        let network = self.base.network(self.forest.species.len());
        let model = PointNet::new(&network, &Device::Cpu, DType::F32, 0)?;
        let numbers = model.params().into_iter().map(|(_, var)| var.elem_count());
        Ok(numbers.sum::<usize>() * size_of::<f32>())
    }

    /// Trains for two epochs with `batch` clouds in each step.
    pub fn run(&self, ranks: usize, batch: usize, overlap: bool, start: Start) -> Result<ShortRun> {
        let config = Config {
            ranks,
            batch,
            ..self.base.clone()
        };
        config.validate()?;
        let records = self.records.iter().cycle().take(batch * self.steps);
        let records: Vec<usize> = records.copied().collect();
        let functions = RankFunctions {
            overlap,
            all_reduce: self.link.map_or_else(|| Algorithm::Ring.function(), slowed),
            ..RankFunctions::default()
        };
        let data = (&self.forest, &*records);
        short_run_on(self.chosen.clone(), &config, data, functions, start)
    }

    /// Measures `ranks` ranks with and without overlap. The efficiency is `efficiency` of the step's seconds.
    pub fn row(
        &self,
        ranks: usize,
        batch: usize,
        efficiency: impl Fn(f64) -> f64,
        start: Start,
    ) -> Result<Row> {
        let overlapped = self.run(ranks, batch, true, start)?;
        let after = self.run(ranks, batch, false, start)?;
        let stats = overlapped.stats;
        let steps = stats.steps.max(1) as f64;
        Ok(Row {
            ranks,
            batch,
            step_ms: 1e3 * overlapped.step,
            reduced_after_ms: 1e3 * after.step,
            overlap_gain: after.step / overlapped.step,
            efficiency: efficiency(overlapped.step),
            gradients_mb: stats.gradients.bytes as f64 / steps / 1e6,
            others_mb: stats.others.bytes as f64 / steps / 1e6,
            all_reduce_ms: 1e3 * stats.communicating / steps,
            waited_ms: 1e3 * stats.waited / steps,
        })
    }
}

/// A ring that takes at least as long as over a link of cost `cost`; it waits without using a core, as for a network card.
fn slowed(cost: Cost) -> AllReduce {
    Arc::new(move |link, data| {
        let began = Instant::now();
        ring_all_reduce(link, data)?;
        let seconds = ring_seconds(link.world_size(), size_of_val(data) as f64, cost);
        thread::sleep(Duration::from_secs_f64(seconds).saturating_sub(began.elapsed()));
        Ok(())
    })
}

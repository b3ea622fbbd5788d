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
    parallel::{
        Algorithm, AllReduce, Cost, ring_all_reduce, ring_seconds, strong_efficiency, weak_efficiency,
    },
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
pub struct Work<'a> {
    args: &'a Args,
    base: Config,
    forest: Dataset,
    records: Vec<usize>,
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

impl<'a> Work<'a> {
    /// Opens the built-in forest with the network of `args`, to train on the device `chosen`.
    ///
    /// # Errors
    /// Returns the errors of [`Forest::open`].
    pub fn open(args: &'a Args, chosen: Chosen) -> Result<Self> {
        let Forest {
            config, data, split, ..
        } = Forest::open(Config {
            model: args.model,
            points: args.points,
            width: args.width,
            epochs: 2,
            ..Config::default()
        })?;
        Ok(Self {
            args,
            base: config,
            forest: data,
            records: split.train,
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

    /// Steps of one rank, in seconds: with the batch of one rank, and with that of all.
    pub fn baselines(&self) -> Result<[f64; 2]> {
        let one = |batch| -> Result<f64> { Ok(self.run(1, batch, true, Start::Threads)?.step) };
        Ok([one(self.args.batch)?, one(self.args.batch * self.args.most())?])
    }

    /// Measures weak and strong scaling to `ranks` ranks, with and without overlap, against [`Self::baselines`].
    pub fn scaled(&self, ranks: usize, [weak, strong]: [f64; 2], start: Start) -> Result<[Row; 2]> {
        let of_weak = |seconds| weak_efficiency(weak, seconds);
        let of_strong = |seconds| strong_efficiency(strong, seconds, ranks);
        Ok([
            self.row(ranks, self.args.batch * ranks, of_weak, start)?,
            self.row(ranks, self.args.batch * self.args.most(), of_strong, start)?,
        ])
    }

    fn row(&self, ranks: usize, batch: usize, efficiency: impl Fn(f64) -> f64, start: Start) -> Result<Row> {
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

    /// Trains for two epochs with `batch` clouds in each step.
    fn run(&self, ranks: usize, batch: usize, overlap: bool, start: Start) -> Result<ShortRun> {
        let config = Config {
            ranks,
            batch,
            ..self.base.clone()
        };
        config.validate()?;
        let records = self.records.iter().cycle().take(batch * self.args.steps);
        let records: Vec<usize> = records.copied().collect();
        let link = self.args.emulated();
        let functions = RankFunctions {
            overlap,
            all_reduce: link.map_or_else(|| Algorithm::Ring.function(), slowed),
            ..RankFunctions::default()
        };
        let data = (&self.forest, &*records);
        short_run_on(self.chosen.clone(), &config, data, functions, start)
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

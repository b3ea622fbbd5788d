//! Stage 3: the parameters of a part of the network are gathered when it runs, and released afterwards.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use candle_core::Tensor;

use super::{super::RankStats, Shards, flat};
use crate::{
    model::Part,
    parallel::{Collective, Traffic},
    shard::{Memory, backward_sharded, forward_sharded},
    train::GatheredPasses,
};

/// Gathers parameters for the parts of forward and backward passes, and reduces the gradients.
pub struct Gathering {
    link: Box<dyn Collective>,
    shards: Arc<Shards>,
    memory: Memory,
    /// This rank's chunk of the mean gradients of each part, summed over the micro-batches of a step.
    means: Vec<Vec<f32>>,
    /// What a rank sends to gather all parameters once.
    gather: Traffic,
    /// Cost so far.
    pub stats: RankStats,
}

impl Gathering {
    /// Gathers over `link`.
    pub fn new(link: Box<dyn Collective>, shards: Arc<Shards>) -> Self {
        Self {
            link,
            shards,
            memory: Memory::default(),
            means: Vec::new(),
            gather: Traffic::default(),
            stats: RankStats::default(),
        }
    }

    /// Returns this rank's chunks of the gradients, and starts the next step.
    pub fn take(&mut self) -> Vec<Vec<f32>> {
        std::mem::take(&mut self.means)
    }

    /// The most numbers that were in buffers at once.
    pub fn peak(&self) -> usize {
        self.memory.peak()
    }

    /// Counts the time since `began` except for `computing`.
    fn waited(&mut self, began: Instant, computing: Duration) {
        let seconds = began.elapsed().saturating_sub(computing).as_secs_f64();
        self.stats.communicating += seconds;
        self.stats.waited += seconds;
    }
}

impl GatheredPasses for Gathering {
    fn forward(&mut self, part: Part) -> Result<()> {
        let (began, mut computing) = (Instant::now(), Duration::ZERO);
        let before = self.link.traffic();
        let layers = self.shards.layers()?;
        forward_sharded(&*self.link, &layers, &self.memory, &mut |i, whole| {
            let began = Instant::now();
            let done = self.shards.filled(i, whole, || part(i));
            computing += began.elapsed();
            done
        })?;
        self.gather = self.link.traffic() - before;
        self.stats.parameters += self.gather;
        self.waited(began, computing);
        Ok(())
    }

    fn backward(&mut self, weight: f64, part: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>) -> Result<()> {
        let (began, mut computing) = (Instant::now(), Duration::ZERO);
        let before = self.link.traffic();
        let layers = self.shards.layers()?;
        let means = backward_sharded(&*self.link, &layers, &self.memory, &mut |i, whole| {
            let began = Instant::now();
            let grads = self.shards.filled(i, whole, || flat(part(i)?));
            computing += began.elapsed();
            grads
        })?;
        self.stats.parameters += self.gather;
        self.stats.gradients += self.link.traffic() - before - self.gather;
        self.waited(began, computing);
        let scaled = |mean: Vec<f32>| mean.into_iter().map(|v| v * weight as f32).collect::<Vec<_>>();
        let means: Vec<Vec<f32>> = means.into_iter().map(scaled).collect();
        if self.means.is_empty() {
            self.means = means;
            return Ok(());
        }
        for (sums, means) in self.means.iter_mut().zip(means) {
            for (sum, mean) in sums.iter_mut().zip(means) {
                *sum += mean;
            }
        }
        Ok(())
    }
}

//! ZeRO's stage 3: the parameters of a part of the network are gathered when it runs, and released afterwards.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use candle_core::{DType, Device, Tensor};

use super::{RankMemory, RankStats, control::Control, memory::bytes_of, reduce::RankReduce, shards::Shards};
use crate::{
    model::{Part, PointNet},
    optim::Optimizer,
    parallel::{Collective, Traffic},
    shard::{Memory, backward_sharded, forward_sharded},
    train::{GatheredPasses, OptimizerStep, RankShare, Reduce},
};

/// Gathers parameters for the parts of forward and backward passes, and reduces the gradients of each part.
pub struct Gathered {
    link: Box<dyn Collective>,
    shards: Arc<Shards>,
    control: Arc<Control>,
    memory: Memory,
    /// This rank's chunk of the mean gradients of each part, summed over the micro-batches of a step.
    means: Vec<Vec<f32>>,
    /// What a rank sends to gather all parameters once.
    gather: Traffic,
    share: RankShare,
    stats: RankStats,
    /// Bytes of the gradients of the last step after their reduction.
    gradients: u64,
}

impl Gathered {
    /// Shares the parameters of `model` among the ranks of `link`.
    ///
    /// # Errors
    /// Returns an error if the model is not on the CPU.
    pub fn new(model: &PointNet, link: Box<dyn Collective>, control: Arc<Control>) -> Result<Self> {
        ensure!(
            model.device().is_cpu(),
            "ZeRO 3 runs on the CPU only, and the device is another one: use --zero 2, or --device cpu"
        );
        let shards = Shards::new(model, model.parts(), control.clone(), (&Device::Cpu, true))?;
        Ok(Self {
            link,
            shards: Arc::new(shards),
            control,
            memory: Memory::default(),
            means: Vec::new(),
            gather: Traffic::default(),
            share: RankShare::ALONE,
            stats: RankStats::default(),
            gradients: 0,
        })
    }

    /// The slices of this rank.
    pub fn shards(&self) -> Arc<Shards> {
        self.shards.clone()
    }
}

impl RankReduce for Gathered {
    fn begin_step(&mut self, share: RankShare) {
        self.share = share;
    }

    fn stats(&self, control: Traffic) -> RankStats {
        RankStats {
            others: control,
            ..self.stats
        }
    }

    fn memory(&self, optimizer: &dyn Optimizer) -> Result<RankMemory> {
        Ok(RankMemory {
            gradients: self.gradients,
            // A part's parameters are in a buffer and in the model's variables.
            passing: (2 * self.memory.peak() * size_of::<f32>()) as u64,
            ..self.shards.memory(optimizer)?
        })
    }
}

impl Reduce for Gathered {
    fn share(&self) -> RankShare {
        self.share
    }

    fn overlaps(&self) -> bool {
        false
    }

    fn ready(&mut self, _parameter: usize, _gradient: &Tensor) -> Result<()> {
        Ok(())
    }

    /// Returns the mean gradients of this rank's slices. The backward passes have reduced them.
    fn finish(&mut self, _own: Vec<Tensor>) -> Result<Vec<Tensor>> {
        self.control.within_step("at the reduction of gradients");
        let tensor = |means: Vec<f32>| Ok(Tensor::new(means, &Device::Cpu)?);
        let means = std::mem::take(&mut self.means).into_iter().map(tensor);
        let means = self.shards.gradients(&means.collect::<Result<Vec<_>>>()?)?;
        self.gradients = bytes_of(&means);
        Ok(means)
    }

    fn gathers(&mut self) -> Option<&mut dyn GatheredPasses> {
        Some(self)
    }

    fn any_overflow(&self, own: bool) -> Result<bool> {
        self.control.any(own)
    }

    fn update(&mut self, grads: Vec<Tensor>, clip: f64, step: OptimizerStep) -> Result<()> {
        self.control.within_step("at the optimizer");
        self.shards.clip_and_step(grads, clip, step)
    }
}

impl GatheredPasses for Gathered {
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
        self.stats.waited(began.elapsed().saturating_sub(computing));
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
        self.stats.waited(began.elapsed().saturating_sub(computing));
        self.means.resize(means.len(), Vec::new());
        for (sums, mut means) in self.means.iter_mut().zip(means) {
            means.iter_mut().for_each(|mean| *mean *= weight as f32);
            if sums.is_empty() {
                *sums = means;
                continue;
            }
            for (sum, mean) in sums.iter_mut().zip(means) {
                *sum += mean;
            }
        }
        Ok(())
    }
}

/// All gradients end to end; each tensor is freed as soon as it is copied.
fn flat(grads: Vec<Tensor>) -> Result<Vec<f32>> {
    let mut flat = Vec::with_capacity(grads.iter().map(Tensor::elem_count).sum());
    for gradient in grads {
        flat.extend(gradient.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?);
    }
    Ok(flat)
}

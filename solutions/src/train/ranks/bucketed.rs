//! ZeRO: the ranks share the optimizer's state, from stage 2 on the gradients, and in stage 3 the parameters, instead of each
//! having a copy.

mod gathering;
mod shards;
mod state;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Error, Result, ensure};
use candle_core::{DType, Device, Tensor};

use super::{RankFunctions, RankMemory, RankStats, average::RankReduce, control::Control};
use crate::{
    model::PointNet,
    optim::Optimizer,
    parallel::{Bucket, Collective, Reducer, Traffic},
    shard::{reduce_gradients, stage1_step},
    train::{Config, GatheredPasses, OptimizerStep, RankShare, Reduce},
};
use gathering::Gathering;
pub use shards::Shards;
pub use state::kinds;

enum Engine {
    /// Stage 1: all gradients at once, after the backward pass.
    Stage1(Box<dyn Collective>),
    /// Stage 2: in buckets, if `overlaps` while the backward pass goes on, otherwise after it.
    Buckets { reducer: Box<Reducer>, overlaps: bool },
    /// Stage 3: part by part of the network.
    Gathering(Box<Gathering>),
}

/// Reduces gradients, and updates the parameters by the optimizers of all ranks.
pub struct Sharded {
    shards: Arc<Shards>,
    engine: Engine,
    share: RankShare,
    stats: RankStats,
    /// Numbers in the gradients of the last step after their reduction.
    gradients: usize,
}

impl Sharded {
    /// Shares the parameters of `model` among the ranks of `link`, as stage `config.zero` does. The reduction of a bucket must
    /// end within `timeout`.
    ///
    /// # Errors
    /// Returns the errors of [`Reducer::new`].
    pub fn new(
        model: &PointNet,
        (link, control): (Box<dyn Collective>, Arc<Control>),
        (config, functions): (&Config, &RankFunctions),
        timeout: Duration,
    ) -> Result<Self> {
        let sizes: Vec<usize> = model.params().iter().map(|(_, p)| p.elem_count()).collect();
        let device = match config.offload_optimizer {
            true => Device::Cpu,
            false => model.device(),
        };
        let shards = |units, releases| {
            Ok::<_, Error>(Arc::new(Shards::new(model, units, control, (&device, releases))?))
        };
        let all = || vec![(0..sizes.len()).collect()];
        let (engine, shards) = match config.zero {
            3 => {
                ensure!(
                    model.device().is_cpu(),
                    "ZeRO 3 runs on the CPU only, and the device is another one: use --zero 2, or --device cpu"
                );
                let shards = shards(model.parts(), true)?;
                (
                    Engine::Gathering(Box::new(Gathering::new(link, shards.clone()))),
                    shards,
                )
            }
            1 => (Engine::Stage1(link), shards(all(), false)?),
            _ => {
                let bytes: Vec<_> = sizes.iter().map(|n| (n * size_of::<f32>(), "f32")).collect();
                let buckets: Vec<Bucket> = (functions.buckets)(&bytes, functions.sizes);
                let units = buckets.iter().map(|bucket| bucket.params.clone()).collect();
                let reducer = Reducer::new(link, sizes, buckets, Arc::new(reduce_gradients), timeout)?;
                let engine = Engine::Buckets {
                    reducer: Box::new(reducer),
                    overlaps: functions.overlap,
                };
                (engine, shards(units, false)?)
            }
        };
        Ok(Self {
            shards,
            engine,
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

impl RankReduce for Sharded {
    fn begin_step(&mut self, share: RankShare) {
        self.share = share;
    }

    fn memory(&self, optimizer: &dyn Optimizer) -> Result<RankMemory> {
        let bytes = |numbers: usize| (numbers * size_of::<f32>()) as u64;
        let memory = self.shards.memory(optimizer)?;
        let (passing, listed) = match &self.engine {
            // A part's parameters are in a buffer and in the model's variables.
            Engine::Gathering(gathering) => (bytes(2 * gathering.peak()), 0),
            Engine::Buckets { .. } => (0, 0),
            Engine::Stage1(_) => {
                let own = 2 * bytes(self.shards.own_numbers());
                (0, bytes(memory.parameters as usize) + own)
            }
        };
        Ok(RankMemory {
            gradients: bytes(self.gradients),
            passing,
            listed,
            ..memory
        })
    }

    fn stats(&self, control: Traffic) -> RankStats {
        let (stats, others) = match &self.engine {
            Engine::Buckets { .. } => (self.stats, control - self.stats.parameters),
            Engine::Gathering(gathering) => (gathering.stats, control),
            Engine::Stage1(_) => (self.stats, control),
        };
        RankStats { others, ..stats }
    }
}

impl Reduce for Sharded {
    fn share(&self) -> RankShare {
        self.share
    }

    fn overlaps(&self) -> bool {
        matches!(self.engine, Engine::Buckets { overlaps: true, .. })
    }

    fn ready(&mut self, parameter: usize, gradient: &Tensor) -> Result<()> {
        match &mut self.engine {
            Engine::Buckets { reducer, .. } => reducer.ready(parameter, &numbers(gradient)?),
            _ => Ok(()),
        }
    }

    /// Returns the mean gradients of this rank's slices, or `own` if [`Self::update`] reduces them.
    fn finish(&mut self, own: Vec<Tensor>) -> Result<Vec<Tensor>> {
        self.shards.control.within_step("at the reduction of gradients");
        let parts = match &mut self.engine {
            Engine::Buckets { reducer, overlaps } => {
                // Without overlap, none has been sent.
                for (parameter, gradient) in own.iter().enumerate().filter(|_| !*overlaps) {
                    reducer.ready(parameter, &numbers(gradient)?)?;
                }
                let (parts, reduced) = reducer.finish_buckets()?;
                self.stats.reduced(&reduced);
                parts
            }
            Engine::Gathering(gathering) => gathering.take(),
            Engine::Stage1(_) => return Ok(own),
        };
        let parts: Vec<&[f32]> = parts.iter().map(Vec::as_slice).collect();
        self.shards.gradients(&parts)
    }

    fn gathers(&mut self) -> Option<&mut dyn GatheredPasses> {
        match &mut self.engine {
            Engine::Gathering(gathering) => Some(&mut **gathering),
            _ => None,
        }
    }

    fn any_overflow(&self, own: bool) -> Result<bool> {
        let mut ranks = [f64::from(u8::from(own))];
        self.shards.control.sum_f64(&mut ranks)?;
        Ok(ranks[0] > 0.0)
    }

    fn update(&mut self, grads: Vec<Tensor>, clip: f64, step: OptimizerStep) -> Result<()> {
        self.gradients = grads.iter().map(Tensor::elem_count).sum();
        let Self {
            shards,
            engine,
            stats,
            ..
        } = self;
        let began = Instant::now();
        let mut reduced = began;
        match engine {
            Engine::Stage1(link) => {
                let (mut params, mut flat) = (shards.whole()?, flat(grads)?);
                let mut update = |own: &mut [f32], mean: &[f32]| {
                    (reduced, stats.gradients) = (Instant::now(), link.traffic() - stats.parameters);
                    shards.control.within_step("at the optimizer");
                    shards.update(own, mean, clip, step)
                };
                stage1_step(&**link, &mut params, &mut flat, &mut update)?;
                shards.set_whole(&params)?;
                stats.parameters = link.traffic() - stats.gradients;
            }
            Engine::Gathering(_) => {
                shards.control.within_step("at the optimizer");
                return shards.clip_and_step(grads, clip, step);
            }
            Engine::Buckets { .. } => {
                shards.control.within_step("at the optimizer");
                shards.clip_and_step(grads, clip, step)?;
                shards.control.within_step("at the all-gather of parameters");
                let before = shards.control.link().traffic();
                shards.gather()?;
                stats.parameters += shards.control.link().traffic() - before;
                return Ok(());
            }
        }
        let took = (reduced - began).as_secs_f64();
        stats.communicating += took;
        stats.waited += took;
        Ok(())
    }
}

fn numbers(gradient: &Tensor) -> Result<Vec<f32>> {
    Ok(gradient.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?)
}

/// All gradients end to end; each tensor is freed as soon as it is copied.
fn flat(grads: Vec<Tensor>) -> Result<Vec<f32>> {
    let mut flat = Vec::with_capacity(grads.iter().map(Tensor::elem_count).sum());
    for gradient in grads {
        flat.extend(numbers(&gradient)?);
    }
    Ok(flat)
}

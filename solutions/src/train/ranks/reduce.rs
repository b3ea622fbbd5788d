//! How a rank's gradients become the mean over all ranks.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use candle_core::{DType, Tensor, Var};

use super::{RankFunctions, RankMemory, RankStats, control::Control, memory::bytes, weights::like};
use crate::{
    model::PointNet,
    optim::Optimizer,
    parallel::{Collective, Reducer, TensorReducer, Traffic, mean_over_ranks},
    train::{RankShare, Reduce},
};

/// What a rank needs of a [`Reduce`], besides its steps.
pub trait RankReduce: Reduce {
    /// Prepares a step, of whose batch this rank has `share`.
    fn begin_step(&mut self, share: RankShare);

    /// Returns the communication so far; `control` is what was sent over the link for everything except gradients.
    fn stats(&self, control: Traffic) -> RankStats;

    /// Counts what this rank, which steps with `optimizer`, keeps.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read.
    fn memory(&self, optimizer: &dyn Optimizer) -> Result<RankMemory>;
}

enum Engine {
    /// In buckets that stay on the device.
    OnDevice(TensorReducer),
    /// In buckets, while the backward pass goes on.
    Overlapped(Reducer),
    /// All at once, after it.
    AtOnce(
        Box<dyn Collective>,
        fn(&dyn Collective, &mut [Tensor]) -> Result<()>,
    ),
}

/// Averages gradients over the ranks.
pub struct GradientAverage {
    engine: Engine,
    params: Vec<(String, Var)>,
    control: Arc<Control>,
    share: RankShare,
    stats: RankStats,
}

impl GradientAverage {
    /// Averages gradients of the parameters of `model` over `link`. The all-reduce of a bucket must end within `timeout`.
    ///
    /// # Errors
    /// Returns the errors of [`Reducer::new`].
    pub fn new(
        model: &PointNet,
        link: Box<dyn Collective>,
        functions: &RankFunctions,
        control: Arc<Control>,
        timeout: Duration,
    ) -> Result<Self> {
        let params = model.params();
        let sizes: Vec<usize> = params.iter().map(|(_, var)| var.elem_count()).collect();
        // Without buckets, a lesson's function for them is not called.
        let buckets = || {
            let bytes: Vec<_> = sizes.iter().map(|n| (n * size_of::<f32>(), "f32")).collect();
            (functions.buckets)(&bytes, functions.sizes)
        };
        let engine = if link.on_tensors().is_some() && !model.device().is_cpu() {
            let tensors: Vec<Tensor> = params.iter().map(|(_, var)| var.as_detached_tensor()).collect();
            Engine::OnDevice(TensorReducer::new(link, &tensors, buckets(), functions.overlap)?)
        } else if functions.overlap {
            let buckets = buckets();
            let reducer = Reducer::new(link, sizes, buckets, Arc::new(mean_over_ranks), timeout)?;
            Engine::Overlapped(reducer)
        } else {
            Engine::AtOnce(link, functions.average)
        };
        Ok(Self {
            engine,
            params,
            control,
            share: RankShare::ALONE,
            stats: RankStats::default(),
        })
    }
}

impl RankReduce for GradientAverage {
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
        let names: Vec<&str> = self.params.iter().map(|(name, _)| name.as_str()).collect();
        let weights = self.params.iter().map(|(_, var)| bytes(var)).sum();
        let memory = RankMemory {
            parameters: self.params.iter().map(|(_, var)| var.elem_count() as u64).sum(),
            weights,
            gradients: weights,
            ..RankMemory::default()
        };
        memory.with_state(optimizer, &names)
    }
}

impl Reduce for GradientAverage {
    fn share(&self) -> RankShare {
        self.share
    }

    fn overlaps(&self) -> bool {
        match &self.engine {
            Engine::OnDevice(reducer) => reducer.overlaps(),
            Engine::Overlapped(_) => true,
            Engine::AtOnce(..) => false,
        }
    }

    fn ready(&mut self, parameter: usize, gradient: &Tensor) -> Result<()> {
        match &mut self.engine {
            Engine::OnDevice(reducer) => reducer.ready(parameter, gradient),
            Engine::Overlapped(reducer) => {
                let numbers: Vec<f32> = gradient.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
                reducer.ready(parameter, &numbers)
            }
            Engine::AtOnce(..) => Ok(()),
        }
    }

    fn finish(&mut self, mut own: Vec<Tensor>) -> Result<Vec<Tensor>> {
        self.control.within_step("at the all-reduce of gradients");
        let began = Instant::now();
        let stats = &mut self.stats;
        let means = match &mut self.engine {
            Engine::OnDevice(reducer) => {
                // Without overlap, they are all here.
                for (parameter, gradient) in own.iter().enumerate() {
                    reducer.ready(parameter, gradient)?;
                }
                let (means, reduced) = reducer.finish()?;
                stats.reduced(&reduced);
                means
            }
            Engine::Overlapped(reducer) => {
                let (means, reduced) = reducer.finish()?;
                stats.reduced(&reduced);
                let pairs = self.params.iter().zip(means);
                pairs
                    .map(|((_, param), mean)| like(param, mean))
                    .collect::<Result<_>>()?
            }
            Engine::AtOnce(link, average) => {
                average(&**link, &mut own)?;
                let took = began.elapsed().as_secs_f64();
                stats.communicating += took;
                stats.waited += took;
                stats.gradients = link.traffic();
                own
            }
        };
        self.control.within_step("at the optimizer");
        Ok(means)
    }
}

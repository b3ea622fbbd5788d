//! Gradients in buckets, during the backward pass or after it: data parallelism, and ZeRO's stages 1 and 2, in which the ranks
//! share the optimizer's state.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use candle_core::{Device, Tensor, Var};

use super::{
    RankFunctions, RankMemory, RankStats,
    control::Control,
    memory::{bytes, bytes_of},
    reduce::RankReduce,
    shards::Shards,
};
use crate::{
    model::PointNet,
    optim::Optimizer,
    parallel::{Bucket, Collective, ReduceBucket, Reducer, Traffic, mean_over_ranks},
    shard::reduce_gradients,
    train::{Config, OptimizerStep, RankShare, Reduce, clip_and_step},
};

enum Engine {
    Buckets(Box<Reducer>),
    /// All at once after the backward pass, by a function that a lesson may replace; without ZeRO.
    AtOnce(
        Box<dyn Collective>,
        fn(&dyn Collective, &mut [Tensor]) -> Result<()>,
    ),
}

/// Reduces gradients in buckets.
pub struct Bucketed {
    engine: Engine,
    params: Vec<(String, Var)>,
    /// What this rank's optimizer updates; none without ZeRO.
    shards: Option<Arc<Shards>>,
    control: Arc<Control>,
    share: RankShare,
    stats: RankStats,
    /// Bytes of the gradients of the last step after their reduction.
    gradients: u64,
}

impl Bucketed {
    /// Reduces the gradients of `model` over `link`, as stage `config.zero` does, which is at most 2. The reduction of a bucket
    /// must end within `timeout`.
    ///
    /// # Errors
    /// Returns the errors of [`Reducer::new`].
    pub fn new(
        model: &PointNet,
        (link, control): (Box<dyn Collective>, Arc<Control>),
        (config, functions): (&Config, &RankFunctions),
        timeout: Duration,
    ) -> Result<Self> {
        let (zero, params) = (config.zero, model.params());
        let on_device = zero == 0 && link.on_tensors().is_some() && !model.device().is_cpu();
        let mut units = None;
        let engine = if zero == 0 && !functions.overlap && !on_device {
            // Without buckets, a lesson's function for them is not called.
            Engine::AtOnce(link, functions.average)
        } else {
            let tensors: Vec<Tensor> = params.iter().map(|(_, var)| var.as_detached_tensor()).collect();
            let each: Vec<_> = tensors.iter().map(|t| (bytes(t) as usize, "f32")).collect();
            let buckets = match zero {
                1 => vec![Bucket {
                    params: (0..params.len()).collect(),
                    bytes: each.iter().map(|(bytes, _)| bytes).sum(),
                    kind: "f32",
                }],
                _ => (functions.buckets)(&each, functions.sizes),
            };
            units = (zero > 0).then(|| buckets.iter().map(|bucket| bucket.params.clone()).collect());
            // The single bucket of stage 1 is complete only with the last gradient.
            let buckets = (buckets, functions.overlap && zero != 1);
            Engine::Buckets(Box::new(if on_device {
                Reducer::on_device(link, tensors, buckets)?
            } else {
                let reduce: ReduceBucket = match zero {
                    2 => Arc::new(reduce_gradients),
                    _ => Arc::new(mean_over_ranks),
                };
                Reducer::new(link, tensors, buckets, reduce, timeout)?
            }))
        };
        let device = match config.offload_optimizer {
            true => Device::Cpu,
            false => model.device(),
        };
        let shards = units.map(|units| Shards::new(model, units, control.clone(), (&device, false)));
        Ok(Self {
            engine,
            params,
            shards: shards.transpose()?.map(Arc::new),
            control,
            share: RankShare::ALONE,
            stats: RankStats::default(),
            gradients: 0,
        })
    }

    /// The slices of this rank, with ZeRO.
    pub fn shards(&self) -> Option<Arc<Shards>> {
        self.shards.clone()
    }
}

impl RankReduce for Bucketed {
    fn begin_step(&mut self, share: RankShare) {
        self.share = share;
    }

    fn stats(&self, control: Traffic) -> RankStats {
        RankStats {
            others: control - self.stats.parameters,
            ..self.stats
        }
    }

    fn memory(&self, optimizer: &dyn Optimizer) -> Result<RankMemory> {
        let memory = match &self.shards {
            Some(shards) => shards.memory(optimizer)?,
            None => RankMemory::of(&self.params, &[], optimizer)?,
        };
        Ok(RankMemory {
            gradients: self.gradients,
            ..memory
        })
    }
}

impl Reduce for Bucketed {
    fn share(&self) -> RankShare {
        self.share
    }

    fn overlaps(&self) -> bool {
        matches!(&self.engine, Engine::Buckets(reducer) if reducer.overlaps())
    }

    fn ready(&mut self, parameter: usize, gradient: &Tensor) -> Result<()> {
        match &mut self.engine {
            Engine::Buckets(reducer) => reducer.ready(parameter, gradient),
            Engine::AtOnce(..) => Ok(()),
        }
    }

    /// Returns the mean gradients, with ZeRO those of this rank's slices.
    fn finish(&mut self, mut own: Vec<Tensor>) -> Result<Vec<Tensor>> {
        self.control.within_step(match &self.shards {
            None => "at the all-reduce of gradients",
            Some(_) => "at the reduction of gradients",
        });
        let means = match &mut self.engine {
            Engine::AtOnce(link, average) => {
                let began = Instant::now();
                average(&**link, &mut own)?;
                self.stats.waited(began.elapsed());
                self.stats.gradients = link.traffic();
                self.gradients = bytes_of(&own);
                own
            }
            Engine::Buckets(reducer) => {
                // Without overlap, they are all here.
                for (parameter, gradient) in own.into_iter().enumerate() {
                    reducer.ready(parameter, &gradient)?;
                }
                let Some(shards) = &self.shards else {
                    let (means, reduced) = reducer.finish()?;
                    self.stats.reduced(&reduced);
                    self.gradients = bytes_of(&means);
                    return Ok(means);
                };
                let (parts, reduced) = reducer.finish_buckets()?;
                self.stats.reduced(&reduced);
                self.gradients = bytes_of(&parts);
                shards.gradients(&parts)?
            }
        };
        Ok(means)
    }

    fn any_overflow(&self, own: bool) -> Result<bool> {
        self.shards.as_ref().map_or(Ok(own), |_| self.control.any(own))
    }

    fn update(&mut self, grads: Vec<Tensor>, clip: f64, step: OptimizerStep) -> Result<()> {
        self.control.within_step("at the optimizer");
        let Some(shards) = &self.shards else {
            let measured = &mut |grads: &[Tensor]| {
                step(grads)?;
                self.control.stepped();
                Ok(())
            };
            return clip_and_step(grads, clip, measured);
        };
        shards.clip_and_step(grads, clip, step)?;
        self.control.within_step("at the all-gather of parameters");
        let before = self.control.link().traffic();
        shards.gather()?;
        self.stats.parameters += self.control.link().traffic() - before;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use candle_core::DType;

    use super::*;
    use crate::{
        parallel::{Algorithm, Rank, threads::group},
        precision::{DynamicScaler, GradScaler, LossScale},
        train::ranks::ending::Reports,
    };

    /// Takes a step of one of two ranks whose gradients are finite, but not their sums.
    fn overflowing_step([control, gradients]: [Rank; 2], zero: u8, overlap: bool) {
        let config = Config {
            zero,
            ranks: 2,
            width: 64,
            ..Config::default()
        };
        let functions = RankFunctions {
            overlap,
            ..RankFunctions::default()
        };
        let model = PointNet::new(&config.network(3), &Device::Cpu, DType::F32, 1).unwrap();
        let control = Arc::new(Control::new(Box::new(control), Reports::new(2), None));
        let links: (Box<dyn Collective>, _) = (Box::new(gradients), control);
        let mut reduce =
            Bucketed::new(&model, links, (&config, &functions), Duration::from_secs(20)).unwrap();
        let huge =
            |(_, var): &(String, Var)| Tensor::full(0.75 * f32::MAX, var.shape(), &Device::Cpu).unwrap();
        let own: Vec<Tensor> = model.params().iter().map(huge).collect();
        let mut scaler = GradScaler::new(DynamicScaler::new(8.0, 100).unwrap());
        let one = Tensor::new(1f32, &Device::Cpu).unwrap();
        let backward = &mut |_: &Tensor| {
            let own = match reduce.overlaps() {
                true => {
                    let mut each = own.iter().enumerate().rev();
                    each.try_for_each(|(p, gradient)| reduce.ready(p, gradient))
                        .unwrap();
                    Vec::new()
                }
                false => own.clone(),
            };
            Ok(reduce.finish(own).unwrap())
        };
        scaler.gradients(&one, backward).unwrap();
        scaler.agree(|own| reduce.any_overflow(own)).unwrap();
        let taken = scaler.step(|| panic!("it stepped")).unwrap();
        assert!(!taken);
        assert_eq!(scaler.rule().scale(), 4.0);
    }

    #[test]
    fn gradients_that_overflow_only_in_their_sum_are_skipped_by_all_ranks() {
        for (zero, overlap) in (0..3).flat_map(|zero| [(zero, true), (zero, false)]) {
            let groups = [(); 2].map(|()| group(2, Algorithm::Ring, Duration::from_secs(20)));
            let [control, gradients] = groups;
            thread::scope(|scope| {
                for links in control.into_iter().zip(gradients) {
                    scope.spawn(move || overflowing_step(links.into(), zero, overlap));
                }
            });
        }
    }
}

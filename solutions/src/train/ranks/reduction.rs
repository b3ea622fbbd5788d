//! The reduction of gradients over the ranks. In buckets, during the backward pass or after it: data parallelism, and ZeRO's
//! stages 1 and 2, in which the ranks share the optimizer's state. Part by part of the network, whose parameters are gathered when
//! it runs and released afterwards: stage 3.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use candle_core::{Device, Tensor, Var};

use super::{
    RankFunctions, RankMemory, RankStats, control::Control, shards::Shards, stats::bytes, weights::numbers,
};
use crate::{
    model::{Part, PointNet},
    optim::{Optimizer, clip_by_norm, sum_of_squares},
    parallel::{Bucket, Collective, Reduced, Reducer, Traffic, mean_over_ranks},
    shard::{Memory, Stage, backward_sharded, forward_sharded, reduce_gradients},
    train::{Config, GatheredPasses, OptimizerStep, RankShare, Reduce, clip_and_step},
};

enum Engine {
    Buckets(Box<Reducer>),
    /// All at once after the backward pass, by a function that a lesson may replace; without ZeRO.
    AtOnce(
        Box<dyn Collective>,
        fn(&dyn Collective, &mut [Tensor]) -> Result<()>,
    ),
    /// The gradients of each part during its backward pass.
    Parts(Parts),
}

/// Gathers parameters for the parts of forward and backward passes.
struct Parts {
    link: Box<dyn Collective>,
    shards: Arc<Shards>,
    memory: Memory,
    /// This rank's chunk of the mean gradients of each part, summed over the micro-batches of a step.
    means: Vec<Vec<f32>>,
    /// What this rank has sent to gather parameters.
    gathered: Traffic,
}

/// Reduces the gradients of one rank's model, and steps with those of its parameters.
pub struct Reduction {
    engine: Engine,
    params: Vec<(String, Var)>,
    /// What this rank's optimizer updates; none without ZeRO.
    pub shards: Option<Arc<Shards>>,
    control: Arc<Control>,
    stage: Stage,
    /// This rank's share of the current step's batch.
    pub share: RankShare,
    stats: RankStats,
    /// Bytes of the gradients of the last step after their reduction.
    gradients: u64,
}

impl Reduction {
    /// Reduces the gradients of `model` over `link`, as stage `config.zero` does. The reduction of a bucket must end within
    /// `timeout`.
    ///
    /// # Errors
    /// Returns the errors of [`Reducer::new`], and an error if stage 3 is to run on another device than the CPU.
    pub fn new(
        model: &PointNet,
        (link, control): (Box<dyn Collective>, Arc<Control>),
        (config, functions): (&Config, &RankFunctions),
        timeout: Duration,
    ) -> Result<Self> {
        let (zero, params) = (config.zero, model.params());
        let on_device = zero == 0 && link.on_tensors().is_some() && !model.device().is_cpu();
        let shards = |units| {
            let device = match config.offload_optimizer {
                true => Device::Cpu,
                false => model.device(),
            };
            Shards::new(model, units, control.clone(), (&device, zero == 3)).map(Arc::new)
        };
        let (engine, shards) = if zero == 3 {
            ensure!(
                model.device().is_cpu(),
                "ZeRO 3 runs on the CPU only, and the device is another one: use --zero 2, or --device cpu"
            );
            let shards = shards(model.parts())?;
            let parts = Parts {
                link,
                shards: shards.clone(),
                memory: Memory::default(),
                means: Vec::new(),
                gathered: Traffic::default(),
            };
            (Engine::Parts(parts), Some(shards))
        } else if zero == 0 && !functions.overlap && !on_device {
            // Without buckets, a lesson's function for them is not called.
            (Engine::AtOnce(link, functions.average), None)
        } else {
            let tensors: Vec<Tensor> = params.iter().map(|(_, var)| var.as_detached_tensor()).collect();
            let each: Vec<_> = tensors.iter().map(|t| (bytes([t]) as usize, "f32")).collect();
            let buckets = match zero {
                1 => vec![Bucket {
                    params: (0..params.len()).collect(),
                    bytes: each.iter().map(|(bytes, _)| bytes).sum(),
                    kind: "f32",
                }],
                _ => (functions.buckets)(&each, functions.sizes),
            };
            let shards = match zero {
                0 => None,
                _ => Some(shards(
                    buckets.iter().map(|bucket| bucket.params.clone()).collect(),
                )?),
            };
            // The single bucket of stage 1 is complete only with the last gradient.
            let buckets = (buckets, functions.overlap && zero != 1);
            let reduce = if zero == 2 {
                reduce_gradients
            } else {
                mean_over_ranks
            };
            let reducer = match on_device {
                true => Reducer::on_device(link, tensors, buckets)?,
                false => Reducer::new(link, tensors, buckets, reduce, timeout)?,
            };
            (Engine::Buckets(Box::new(reducer)), shards)
        };
        Ok(Self {
            engine,
            params,
            shards,
            control,
            stage: Stage::ALL[usize::from(zero)],
            share: RankShare::ALONE,
            stats: RankStats::default(),
            gradients: 0,
        })
    }

    /// Returns the communication so far, and what this rank, which steps with `optimizer`, keeps.
    pub fn stats(&self, optimizer: &dyn Optimizer) -> Result<RankStats> {
        let control = self.control.link();
        let copies = self.shards.as_ref().map_or(0, |shards| shards.copied_bytes());
        let mut memory = RankMemory::of(optimizer, &self.params, (self.stage, control.world_size() as u64))?;
        memory.counted[1] = self.gradients;
        memory.counted[0] += copies;
        memory.copies = copies;
        let mut stats = self.stats;
        if let Engine::Parts(parts) = &self.engine {
            // The model's weights are released. A part's are in a buffer and in the model's variables.
            memory.counted[0] -= bytes(self.params.iter().map(|(_, var)| var.as_tensor()));
            memory.passing = (2 * parts.memory.peak() * size_of::<f32>()) as u64;
            stats.gradients = parts.link.traffic() - parts.gathered;
            stats.parameters = parts.gathered;
            stats.others = control.traffic();
        } else {
            // The parameters are gathered over the same link as everything else.
            stats.others = control.traffic() - stats.parameters;
        }
        stats.memory = Some(memory);
        Ok(stats)
    }

    /// Counts the cost of the gradients of a step.
    fn count(&mut self, cost: &Reduced) {
        self.stats.communicating += cost.communicating.as_secs_f64();
        self.stats.waited += cost.waited.as_secs_f64();
        self.stats.gradients += cost.traffic;
    }
}

impl Reduce for Reduction {
    fn share(&self) -> RankShare {
        self.share
    }

    fn overlaps(&self) -> bool {
        matches!(&self.engine, Engine::Buckets(reducer) if reducer.overlaps())
    }

    fn ready(&mut self, parameter: usize, gradient: &Tensor) -> Result<()> {
        match &mut self.engine {
            Engine::Buckets(reducer) => reducer.ready(parameter, gradient),
            Engine::AtOnce(..) | Engine::Parts(_) => Ok(()),
        }
    }

    /// Returns the mean gradients, with ZeRO those of this rank's slices.
    fn finish(&mut self, mut own: Vec<Tensor>) -> Result<Vec<Tensor>> {
        self.control.within_step(match &self.shards {
            None => "at the all-reduce of gradients",
            Some(_) => "at the reduction of gradients",
        });
        let reduced = match &mut self.engine {
            Engine::AtOnce(link, average) => {
                let (began, before) = (Instant::now(), link.traffic());
                average(&**link, &mut own)?;
                let took = began.elapsed();
                let cost = Reduced {
                    traffic: link.traffic() - before,
                    communicating: took,
                    waited: took,
                };
                self.count(&cost);
                own
            }
            Engine::Buckets(reducer) => {
                // Without overlap, they are all here.
                for (parameter, gradient) in own.into_iter().enumerate() {
                    reducer.ready(parameter, &gradient)?;
                }
                let (reduced, cost) = match &self.shards {
                    None => reducer.finish()?,
                    Some(_) => reducer.finish_buckets()?,
                };
                self.count(&cost);
                reduced
            }
            // The backward passes have reduced them.
            Engine::Parts(parts) => {
                let means = std::mem::take(&mut parts.means).into_iter();
                means
                    .map(|means| Ok(Tensor::new(means, &Device::Cpu)?))
                    .collect::<Result<_>>()?
            }
        };
        self.gradients = bytes(&reduced);
        match &self.shards {
            None => Ok(reduced),
            Some(shards) => shards.gradients(&reduced),
        }
    }

    fn gathers(&mut self) -> Option<&mut dyn GatheredPasses> {
        match &mut self.engine {
            Engine::Parts(parts) => Some(parts),
            _ => None,
        }
    }

    fn any_overflow(&self, own: bool) -> Result<bool> {
        match &self.shards {
            None => Ok(own),
            Some(_) => Ok(self.control.any([own])?[0]),
        }
    }

    fn update(&mut self, mut grads: Vec<Tensor>, clip: f64, step: OptimizerStep) -> Result<()> {
        self.control.within_step("at the optimizer");
        let Some(shards) = &self.shards else {
            return clip_and_step(grads, clip, step);
        };
        if clip > 0.0 {
            // The norm is that of the gradients of all ranks.
            let mut squares = [sum_of_squares(&grads)?];
            self.control.sum_f64(&mut squares)?;
            clip_by_norm(&mut grads, squares[0].sqrt(), clip)?;
        }
        step(&grads)?;
        drop(grads);
        if !matches!(self.engine, Engine::Parts(_)) {
            self.control.within_step("at the all-gather of parameters");
            let before = self.control.link().traffic();
            shards.gather()?;
            self.stats.parameters += self.control.link().traffic() - before;
        }
        Ok(())
    }
}

impl GatheredPasses for Parts {
    fn forward(&mut self, part: Part) -> Result<()> {
        let before = self.link.traffic();
        forward_sharded(
            &*self.link,
            &self.shards.layers()?,
            &self.memory,
            &mut |i, whole| self.shards.filled(i, whole, || part(i)),
        )?;
        let sent = self.link.traffic() - before;
        // The backward pass gathers them once more.
        self.gathered += sent;
        self.gathered += sent;
        Ok(())
    }

    fn backward(&mut self, weight: f64, part: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>) -> Result<()> {
        let layers = self.shards.layers()?;
        let means = backward_sharded(&*self.link, &layers, &self.memory, &mut |i, whole| {
            self.shards.filled(i, whole, || {
                let mut all = Vec::with_capacity(whole.len());
                // A gradient is freed when it is copied.
                for gradient in part(i)? {
                    all.extend(numbers(&gradient)?);
                }
                Ok(all)
            })
        })?;
        self.means.resize(means.len(), Vec::new());
        for (sums, means) in self.means.iter_mut().zip(means) {
            // A sum that starts with -0 keeps the sign of a zero.
            sums.resize(means.len(), -0.0);
            for (sum, mean) in sums.iter_mut().zip(means) {
                *sum += mean * weight as f32;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use candle_core::DType;

    use super::*;
    use crate::{
        parallel::{Rank, ring_all_reduce, threads::group},
        precision::{DynamicScaler, GradScaler, LossScale},
        train::ranks::ending::Reports,
    };

    /// Takes a step of one of two ranks whose gradients all have `value`.
    fn overflowing_step([control, gradients]: [Rank; 2], value: f32, zero: u8, overlap: bool) {
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
        let control = Arc::new(Control::new(Box::new(control), Reports::new(2, 2)));
        let links: (Box<dyn Collective>, _) = (Box::new(gradients), control);
        let mut reduce =
            Reduction::new(&model, links, (&config, &functions), Duration::from_secs(20)).unwrap();
        let full = |(_, var): &(String, Var)| Tensor::full(value, var.shape(), &Device::Cpu).unwrap();
        let own: Vec<Tensor> = model.params().iter().map(full).collect();
        let mut scaler = GradScaler::new(DynamicScaler::new(8.0, 100).unwrap());
        let one = Tensor::new(1f32, &Device::Cpu).unwrap();
        let backward = &mut |_: &Tensor| {
            let mut own = own.clone();
            if reduce.overlaps() {
                for (p, gradient) in own.drain(..).enumerate().rev() {
                    reduce.ready(p, &gradient).unwrap();
                }
            }
            Ok(reduce.finish(own).unwrap())
        };
        scaler.gradients(&one, backward).unwrap();
        scaler.agree(|own| reduce.any_overflow(own)).unwrap();
        let taken = scaler.step(|| panic!("it stepped")).unwrap();
        assert!(!taken);
        assert_eq!(scaler.rule().scale(), 4.0);
    }

    #[test]
    fn gradients_that_overflow_on_one_rank_or_in_their_sum_are_skipped_by_all_ranks() {
        let large = 0.75 * f32::MAX;
        for values in [[large; 2], [0.0, f32::INFINITY]] {
            for (zero, overlap) in (0..3).flat_map(|zero| [(zero, true), (zero, false)]) {
                let groups = [(); 2].map(|()| group(2, ring_all_reduce, Duration::from_secs(20)));
                let [control, gradients] = groups;
                thread::scope(|scope| {
                    for (links, value) in control.into_iter().zip(gradients).zip(values) {
                        scope.spawn(move || overflowing_step(links.into(), value, zero, overlap));
                    }
                });
            }
        }
    }
}

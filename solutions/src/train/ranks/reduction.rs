//! The reduction of gradients over the ranks. In buckets, during the backward pass or after it: data parallelism, and ZeRO's
//! stages 1 and 2, in which the ranks share the optimizer's state.

use std::{sync::Arc, time::Instant};

use anyhow::Result;
use candle_core::{Tensor, Var};

use super::{RankFunctions, RankMemory, RankStats, control::Control, shards::Shards, stats::bytes};
use crate::{
    model::PointNet,
    optim::{Optimizer, clip_by_norm, clip_grad_norm, sum_of_squares},
    parallel::{Bucket, Collective, Reduced, Reducer, mean_over_ranks},
    profile,
    shard::{Stage, reduce_gradients},
    train::Config,
};

/// The part of a batch that one rank has.
#[derive(Clone, Copy, Debug)]
pub struct RankShare {
    /// Ranks that share the batch.
    pub world_size: usize,
    /// Clouds of the whole batch.
    pub clouds: usize,
    /// Sum of the [`MicroBatch::weight`]s of the whole batch.
    pub weight: f64,
}

impl RankShare {
    /// The whole of a batch of one cloud.
    pub const ALONE: Self = Self {
        world_size: 1,
        clouds: 1,
        weight: 1.0,
    };
}

/// The step of an optimizer on the gradients of its parameters.
pub type OptimizerStep<'a> = &'a mut dyn FnMut(&[Tensor]) -> Result<()>;

/// Clips `grads` to the norm `clip` (0: not clipped), and calls `step` with them.
pub fn clip_and_step(mut grads: Vec<Tensor>, clip: f64, step: OptimizerStep) -> Result<()> {
    if clip > 0.0 {
        let _span = profile::work("clip");
        clip_grad_norm(&mut grads, clip)?;
    }
    step(&grads)
}

enum Engine {
    Buckets(Box<Reducer>),
    /// All at once after the backward pass, by a function that a lesson may replace; without ZeRO.
    AtOnce(
        Box<dyn Collective>,
        fn(&dyn Collective, &mut [Tensor]) -> Result<()>,
    ),
}

/// Reduces the gradients of one rank's model, and steps with those of its parameters.
pub struct Reduction {
    engine: Engine,
    params: Vec<(String, Var)>,
    /// What this rank's optimizer updates; none without ZeRO.
    pub shards: Option<Shards>,
    control: Arc<Control>,
    stage: Stage,
    /// This rank's share of the current step's batch.
    pub share: RankShare,
    stats: RankStats,
    /// Bytes of the gradients of the last step after their reduction.
    gradients: u64,
}

impl Reduction {
    /// Reduces the gradients of `model` over `link`, as stage `config.zero` does.
    ///
    /// # Errors
    /// Returns the errors of [`Reducer::new`].
    pub fn new(
        model: &PointNet,
        (link, control): (Box<dyn Collective>, Arc<Control>),
        (config, functions): (&Config, &RankFunctions),
    ) -> Result<Self> {
        let (zero, params) = (config.zero, model.params());
        let on_device = zero == 0 && link.on_tensors().is_some() && !model.device().is_cpu();
        let (engine, shards) = if zero == 0 && !config.overlap && !on_device {
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
                _ => Some(Shards::new(model, &buckets, control.clone())?),
            };
            // The single bucket of stage 1 is complete only with the last gradient.
            let buckets = (buckets, config.overlap && zero != 1);
            let reduce = if zero == 2 {
                reduce_gradients
            } else {
                mean_over_ranks
            };
            let reducer = match on_device {
                true => Reducer::on_device(link, tensors, buckets)?,
                false => Reducer::new(link, tensors, buckets, reduce)?,
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
        let copies = self.shards.as_ref().map_or(0, Shards::copied_bytes);
        let shared = (self.stage, control.world_size() as u64);
        Ok(RankStats {
            // The parameters are gathered over the same link as everything else.
            others: control.traffic() - self.stats.parameters,
            memory: Some(RankMemory::of(
                optimizer,
                &self.params,
                shared,
                (copies, self.gradients),
            )?),
            ..self.stats
        })
    }

    /// Counts the cost of the gradients of a step.
    fn count(&mut self, cost: &Reduced) {
        self.stats.communicating += cost.communicating.as_secs_f64();
        self.stats.waited += cost.waited.as_secs_f64();
        self.stats.gradients += cost.traffic;
    }

    /// Whether gradients are sent during the backward pass, through [`Self::ready`].
    pub fn overlaps(&self) -> bool {
        matches!(&self.engine, Engine::Buckets(reducer) if reducer.overlaps())
    }

    /// Takes the gradient of parameter `parameter`, which is complete on this rank.
    ///
    /// # Errors
    /// Returns an error if another rank ended or missed its deadline.
    pub fn ready(&mut self, parameter: usize, gradient: &Tensor) -> Result<()> {
        match &mut self.engine {
            Engine::Buckets(reducer) => reducer.ready(parameter, gradient),
            Engine::AtOnce(..) => Ok(()),
        }
    }

    /// Returns the mean over the ranks of `own`, this rank's gradients in the order of the parameters; they are empty if
    /// [`Self::ready`] has them. With ZeRO, returns the means of this rank's slices.
    pub fn finish(&mut self, mut own: Vec<Tensor>) -> Result<Vec<Tensor>> {
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
        };
        self.gradients = bytes(&reduced);
        match &self.shards {
            None => Ok(reduced),
            Some(shards) => shards.gradients(&reduced),
        }
    }

    /// Returns whether a gradient overflowed on any rank. `own` says whether one did in what [`Self::finish`] returned here;
    /// without ZeRO all ranks have the same means, so it is the answer.
    pub fn any_overflow(&self, own: bool) -> Result<bool> {
        match &self.shards {
            None => Ok(own),
            Some(_) => Ok(self.control.any([own])?[0]),
        }
    }

    /// Clips the gradients that [`Self::finish`] returned to the norm `clip` (0: not clipped), and calls `step`, the step of
    /// this rank's optimizer, with those of its parameters. With ZeRO, gathers the parameters of all ranks then.
    ///
    /// # Errors
    /// Those of `step`, and as [`Self::ready`].
    pub fn update(&mut self, mut grads: Vec<Tensor>, clip: f64, step: OptimizerStep) -> Result<()> {
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
        self.control.within_step("at the all-gather of parameters");
        let before = self.control.link().traffic();
        shards.gather()?;
        self.stats.parameters += self.control.link().traffic() - before;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use candle_core::{DType, Device};

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
            overlap,
            ..Config::default()
        };
        let functions = RankFunctions::default();
        let model = PointNet::new(&config.network(3), &Device::Cpu, DType::F32, 1).unwrap();
        let control = Arc::new(Control::new(Box::new(control), Reports::new(2, 2)));
        let links: (Box<dyn Collective>, _) = (Box::new(gradients), control);
        let mut reduce = Reduction::new(&model, links, (&config, &functions)).unwrap();
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

//! The same training as data parallelism, at each stage of ZeRO, and by the engine; what each rank keeps and sends.

use std::{thread, time::Duration};

use anyhow::{Result, anyhow};
use candle_core::{Device, Tensor};
use canopy::{
    loader::epoch_order,
    parallel::{Collective, Link, Rank, chunk, ring_all_reduce, threads},
    precision::DynamicScaler,
    shard::{BatchSizes, BatchWanted, EngineState, Memory, Sharded, Stage},
};
use lesson09::Lesson09;

use super::network::{Network, Trees, loss};

/// Clouds of a batch on all ranks together, and steps.
pub const BATCH: usize = 64;
pub const STEPS: usize = 200;

/// How the ranks train: at a stage, or, without one, by the engine, which has two micro-batches a step and a loss scale.
pub type Way = Option<Stage>;

/// What came of a training: of the losses the mean over the ranks, of the others the largest of all ranks.
#[derive(Default)]
pub struct Results {
    /// Of each step.
    pub losses: Vec<f64>,
    /// Numbers in the lists that stay: weights, gradients, optimizer.
    pub kept: usize,
    /// Further numbers in lists that are freed within the step.
    pub briefly: usize,
    /// Numbers that a rank sent in all steps.
    pub sent: u64,
}

/// Adam for a list of parameters: the two means of each.
#[derive(Default)]
struct Adam {
    means: Vec<[f32; 2]>,
    step: i32,
}

impl Adam {
    fn step(&mut self, params: &mut [f32], gradients: &[f32]) -> Result<()> {
        self.means.resize(params.len(), [0.0; 2]);
        self.step += 1;
        let [first, second] = [0.9f32, 0.999].map(|beta| 1.0 - beta.powi(self.step));
        for ((p, g), [m, v]) in params.iter_mut().zip(gradients).zip(&mut self.means) {
            *m = 0.9 * *m + 0.1 * g;
            *v = 0.999 * *v + 0.001 * g * g;
            *p -= 1e-3 * (*m / first) / ((*v / second).sqrt() + 1e-8);
        }
        Ok(())
    }

    /// Numbers of its state.
    fn numbers(&self) -> usize {
        2 * self.means.capacity()
    }
}

/// Trains on `ranks` threads.
pub fn train(
    answer: &Lesson09,
    way: Way,
    ranks: usize,
    (network, trees): (&Network, &Trees),
    seed: u64,
) -> Result<Results> {
    let one = |rank: &Rank| {
        let wanted = BatchWanted {
            train: Some(BATCH),
            accumulation: Some(if way.is_none() { 2 } else { 1 }),
            micro: None,
        };
        let mut trainer = Trainer {
            answer,
            network,
            trees,
            rank,
            seed,
            sizes: (answer.settle_batch)(wanted, ranks)?,
            results: Results {
                losses: vec![0.0; STEPS],
                ..Results::default()
            },
        };
        let params = network.initial(seed);
        match way {
            Some(Stage::Zero3) => trainer.stage3(params)?,
            Some(stage) => trainer.stage(stage, params)?,
            None => trainer.engine(params)?,
        }
        trainer.results.sent = rank.traffic().bytes / size_of::<f32>() as u64;
        Ok(trainer.results)
    };
    thread::scope(|scope| {
        let (one, deadline) = (&one, Duration::from_secs(60));
        let group = threads::group(ranks, ring_all_reduce, deadline).into_iter();
        let threads: Vec<_> = group.map(|rank| scope.spawn(move || one(&rank))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        let all = joined.map(|results| results.map_err(|_| anyhow!("a rank panicked"))?);
        let all = all.collect::<Result<Vec<Results>>>()?;
        let mean = |step| all.iter().map(|r: &Results| r.losses[step]).sum::<f64>() / ranks as f64;
        Ok(Results {
            losses: (0..STEPS).map(mean).collect(),
            kept: all.iter().map(|r| r.kept).max().unwrap_or_default(),
            briefly: all.iter().map(|r| r.briefly).max().unwrap_or_default(),
            sent: all.iter().map(|r| r.sent).max().unwrap_or_default(),
        })
    })
}

/// The training of one rank.
struct Trainer<'a> {
    answer: &'a Lesson09,
    network: &'a Network,
    trees: &'a Trees,
    rank: &'a Rank,
    seed: u64,
    sizes: BatchSizes,
    results: Results,
}

impl Trainer<'_> {
    /// Features and labels of this rank's micro-batch `micro` in step `step`.
    fn micro_batch(&self, step: usize, micro: usize) -> Result<[Tensor; 2]> {
        let (n, sizes) = (self.trees.labels.dim(0)?, self.sizes);
        let steps = n / sizes.train;
        let order = epoch_order(n, self.seed, (step / steps) as u64);
        let batch = &order[step % steps * sizes.train..][..sizes.train];
        let own = &batch[chunk(batch.len(), self.rank.rank(), self.rank.world_size())];
        let own = own[micro * sizes.micro..][..sizes.micro].iter();
        let rows = Tensor::from_iter(own.map(|&i| i as u32), &Device::Cpu)?;
        let Trees { features, labels } = self.trees;
        Ok([features.index_select(&rows, 0)?, labels.index_select(&rows, 0)?])
    }

    /// The gradients of all parameters on a micro-batch.
    fn gradients(&mut self, params: &[f32], step: usize, micro: usize) -> Result<Vec<f32>> {
        let [x, labels] = self.micro_batch(step, micro)?;
        let of = |layer| &params[self.network.range(layer)];
        let mut activations = vec![x];
        for layer in 0..3 {
            activations.push(self.network.forward(layer, of(layer), &activations[layer])?);
        }
        let (value, mut gradient) = loss(&activations[3], &labels)?;
        self.results.losses[step] += value / self.sizes.accumulation as f64;
        let mut all = vec![0.0; params.len()];
        for layer in (0..3).rev() {
            let around = (&activations[layer], &activations[layer + 1]);
            let own = self.network.backward(layer, of(layer), around, &mut gradient)?;
            all[self.network.range(layer)].copy_from_slice(&own);
        }
        Ok(all)
    }

    fn stage(&mut self, stage: Stage, mut params: Vec<f32>) -> Result<()> {
        let mut adam = Adam::default();
        for step in 0..STEPS {
            let mut gradients = self.gradients(&params, step, 0)?;
            let whole = gradients.capacity();
            let update = &mut |p: &mut [f32], g: &[f32]| adam.step(p, g);
            let (kept, briefly) = match stage {
                Stage::Zero0 => {
                    self.rank.all_reduce(&mut gradients)?;
                    let ranks = self.rank.world_size() as f32;
                    gradients.iter_mut().for_each(|g| *g /= ranks);
                    update(&mut params, &gradients)?;
                    (whole, 0)
                }
                Stage::Zero1 => {
                    (self.answer.stage1_step)(self.rank, &mut params, &mut gradients, update)?;
                    (whole, 0)
                }
                _ => {
                    let mean = (self.answer.reduce_gradients)(self.rank, gradients)?;
                    let own = chunk(params.len(), self.rank.rank(), self.rank.world_size());
                    let mut mine = params[own].to_vec();
                    update(&mut mine, &mean)?;
                    self.rank.all_gather(&mine, &mut params)?;
                    (mean.capacity(), whole)
                }
            };
            let kept = params.capacity() + kept + adam.numbers();
            (self.results.kept, self.results.briefly) = (kept, briefly);
        }
        Ok(())
    }

    fn stage3(&mut self, params: Vec<f32>) -> Result<()> {
        let (network, rank) = (self.network, self.rank);
        let shard = |layer| Sharded::new(&params[network.range(layer)], rank.rank(), rank.world_size());
        let mut layers: Vec<Sharded> = (0..3).map(shard).collect();
        drop(params);
        let mut adams: [Adam; 3] = Default::default();
        for step in 0..STEPS {
            let [x, labels] = self.micro_batch(step, 0)?;
            let memory = Memory::default();
            let mut activations = vec![x];
            (self.answer.forward_sharded)(rank, &layers, &memory, &mut |i, params| {
                activations.push(network.forward(i, params, &activations[i])?);
                Ok(())
            })?;
            let (value, mut gradient) = loss(&activations[3], &labels)?;
            self.results.losses[step] = value;
            let mut largest = 0;
            let means = (self.answer.backward_sharded)(rank, &layers, &memory, &mut |i, params| {
                let around = (&activations[i], &activations[i + 1]);
                let all = network.backward(i, params, around, &mut gradient)?;
                largest = largest.max(all.capacity());
                Ok(all)
            })?;
            let mut kept = 0;
            for ((layer, mean), adam) in layers.iter_mut().zip(&means).zip(&mut adams) {
                adam.step(&mut layer.own, mean)?;
                kept += layer.own.capacity() + mean.capacity() + adam.numbers();
            }
            (self.results.kept, self.results.briefly) = (kept, memory.peak() + largest);
        }
        Ok(())
    }

    fn engine(&mut self, mut params: Vec<f32>) -> Result<()> {
        let (scaler, micro_batches) = (DynamicScaler::new(1024.0, 100)?, self.sizes.accumulation);
        let mut state = EngineState::new(micro_batches, Box::new(scaler), 0.0)?;
        let mut adam = Adam::default();
        for call in 0..STEPS * micro_batches {
            let (step, micro) = (call / micro_batches, call % micro_batches);
            let mut gradients = self.gradients(&params, step, micro)?;
            let scale = state.scaler.scale() as f32;
            gradients.iter_mut().for_each(|g| *g *= scale);
            (self.answer.engine_backward)(&mut state, &gradients)?;
            let (accumulated, briefly) = (state.gradients.capacity(), gradients.capacity());
            drop(gradients);
            let update = &mut |p: &mut [f32], g: &[f32]| adam.step(p, g);
            (self.answer.engine_step)(&mut state, self.rank, &mut params, update)?;
            let kept = params.capacity() + accumulated + adam.numbers();
            (self.results.kept, self.results.briefly) = (kept, briefly);
        }
        Ok(())
    }
}

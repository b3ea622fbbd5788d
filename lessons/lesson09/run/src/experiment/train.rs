//! The same training as data parallelism, at each stage of ZeRO, and by the engine; what each rank keeps and sends.

use std::{thread, time::Duration};

use anyhow::{Result, anyhow, ensure};
use canopy::{
    loader::epoch_order,
    parallel::{Collective, Link, Rank, chunk, ring_all_reduce, threads},
    precision::DynamicScaler,
    shard::{BatchSizes, BatchWanted, EngineState, Memory, Outcome, Sharded, Stage},
};
use lesson09::Lesson09;

use super::{
    network::{Activations, Network, loss},
    trees::Trees,
};

/// Clouds of a batch on all ranks together, and steps.
pub const BATCH: usize = 64;
pub const STEPS: usize = 200;
/// Longer than any step.
const DEADLINE: Duration = Duration::from_secs(60);

/// How the ranks train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    Stage(Stage),
    /// Stage 2 behind an engine: two micro-batches a step, and a loss scale.
    Engine,
}

/// All ways.
pub const WAYS: [Way; 5] = [
    Way::Stage(Stage::Zero0),
    Way::Stage(Stage::Zero1),
    Way::Stage(Stage::Zero2),
    Way::Stage(Stage::Zero3),
    Way::Engine,
];

/// What a training found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Mean loss of each step.
    pub losses: Vec<f64>,
    /// Most numbers of a rank in the lists that stay: weights, gradients, optimizer.
    pub kept: [usize; 3],
    /// Most further numbers of a rank in lists that are freed within the step.
    pub briefly: usize,
    /// Numbers that a rank sent in all steps, at most.
    pub sent: u64,
    /// Wall-clock seconds of all steps.
    pub seconds: f64,
}

/// Adam for a list of parameters.
#[derive(Default)]
struct Adam {
    mean: Vec<f32>,
    square: Vec<f32>,
    step: i32,
}

impl Adam {
    fn step(&mut self, params: &mut [f32], gradients: &[f32]) -> Result<()> {
        ensure!(
            params.len() == gradients.len(),
            "update got {} parameters and {} gradients",
            params.len(),
            gradients.len()
        );
        if self.step == 0 {
            (self.mean, self.square) = (vec![0.0; params.len()], vec![0.0; params.len()]);
        }
        self.step += 1;
        let [first, second] = [0.9f32, 0.999].map(|beta| 1.0 - beta.powi(self.step));
        let state = self.mean.iter_mut().zip(&mut self.square);
        for ((p, g), (m, v)) in params.iter_mut().zip(gradients).zip(state) {
            *m = 0.9 * *m + 0.1 * g;
            *v = 0.999 * *v + 0.001 * g * g;
            *p -= 1e-3 * (*m / first) / ((*v / second).sqrt() + 1e-8);
        }
        Ok(())
    }

    /// Numbers of its state.
    fn numbers(&self) -> usize {
        self.mean.capacity() + self.square.capacity()
    }
}

/// The training of one rank.
struct Trainer<'a> {
    answer: &'a Lesson09,
    network: &'a Network,
    trees: &'a Trees,
    rank: &'a Rank,
    found: Found,
}

/// Trains on `ranks` threads.
pub fn train(
    answer: &Lesson09,
    way: Way,
    ranks: usize,
    (network, trees): (&Network, &Trees),
    seed: u64,
) -> Result<Found> {
    let group = threads::group(ranks, ring_all_reduce, DEADLINE);
    let began = std::time::Instant::now();
    let all = thread::scope(|scope| -> Result<Vec<Found>> {
        let one = |rank: Rank| {
            scope.spawn(move || {
                let mut trainer = Trainer {
                    answer,
                    network,
                    trees,
                    rank: &rank,
                    found: Found::default(),
                };
                trainer.train(way, seed)?;
                trainer.found.sent = rank.traffic().bytes / size_of::<f32>() as u64;
                Ok(trainer.found)
            })
        };
        let threads: Vec<_> = group.into_iter().map(one).collect();
        let joined = threads
            .into_iter()
            .map(|t| t.join().map_err(|_| anyhow!("a rank panicked"))?);
        joined.collect()
    })?;
    let mut whole = Found {
        seconds: began.elapsed().as_secs_f64(),
        losses: vec![0.0; STEPS],
        ..Found::default()
    };
    for found in &all {
        let sums = whole.losses.iter_mut().zip(&found.losses);
        sums.for_each(|(sum, loss)| *sum += loss / ranks as f64);
        let kept = whole.kept.iter_mut().zip(found.kept);
        kept.for_each(|(most, n)| *most = n.max(*most));
        whole.briefly = whole.briefly.max(found.briefly);
        whole.sent = whole.sent.max(found.sent);
    }
    Ok(whole)
}

impl Trainer<'_> {
    fn train(&mut self, way: Way, seed: u64) -> Result<()> {
        let wanted = BatchWanted {
            train: Some(BATCH),
            accumulation: Some(if way == Way::Engine { 2 } else { 1 }),
            micro: None,
        };
        let sizes = (self.answer.settle_batch)(wanted, self.rank.world_size())?;
        let params = self.network.initial(seed);
        match way {
            Way::Stage(Stage::Zero3) => self.stage3(params, seed, sizes),
            Way::Stage(stage) => self.stage(stage, params, seed, sizes),
            Way::Engine => self.engine(params, seed, sizes),
        }
    }

    /// The trees of this rank's micro-batch `micro` in step `step`.
    fn micro_batch(&self, seed: u64, step: usize, micro: usize, sizes: BatchSizes) -> (Vec<f32>, Vec<u32>) {
        let n = self.trees.labels.len();
        let steps = n / sizes.train;
        let order = epoch_order(n, seed, (step / steps) as u64);
        let batch = &order[step % steps * sizes.train..][..sizes.train];
        let own = &batch[chunk(batch.len(), self.rank.rank(), self.rank.world_size())];
        self.trees.rows(&own[micro * sizes.micro..][..sizes.micro])
    }

    fn keeps(&mut self, [weights, gradients, optimizer]: [usize; 3], briefly: usize) {
        let kept = self.found.kept.iter_mut().zip([weights, gradients, optimizer]);
        kept.for_each(|(most, n)| *most = n.max(*most));
        self.found.briefly = self.found.briefly.max(briefly);
    }

    /// The gradients of all parameters on a micro-batch. Notes its loss, as one of `parts` of the step.
    fn gradients(&mut self, params: &[f32], (x, labels): (Vec<f32>, Vec<u32>), parts: usize) -> Vec<f32> {
        let mut activations: Activations = vec![x];
        let layers = self.network.layers();
        for i in 0..layers {
            self.network
                .forward(i, &params[self.network.range(i)], &mut activations);
        }
        let (value, mut gradient) = loss(&activations[layers], &labels);
        *self.found.losses.last_mut().unwrap_or(&mut 0.0) += value / parts as f64;
        let mut all = vec![0.0; params.len()];
        for i in (0..layers).rev() {
            let own = self.network.range(i);
            let of_layer = self
                .network
                .backward(i, &params[own.clone()], &activations, &mut gradient);
            all[own].copy_from_slice(&of_layer);
        }
        all
    }

    fn stage(&mut self, stage: Stage, mut params: Vec<f32>, seed: u64, sizes: BatchSizes) -> Result<()> {
        let mut adam = Adam::default();
        for step in 0..STEPS {
            self.found.losses.push(0.0);
            let batch = self.micro_batch(seed, step, 0, sizes);
            let mut gradients = self.gradients(&params, batch, 1);
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
                Stage::Zero2 | Stage::Zero3 => {
                    let mean = (self.answer.reduce_gradients)(self.rank, gradients)?;
                    let own = chunk(params.len(), self.rank.rank(), self.rank.world_size());
                    let mut mine = params[own].to_vec();
                    update(&mut mine, &mean)?;
                    self.rank.all_gather(&mine, &mut params)?;
                    (mean.capacity(), whole)
                }
            };
            let state = adam.numbers();
            self.keeps([params.capacity(), kept, state], briefly);
        }
        Ok(())
    }

    fn stage3(&mut self, params: Vec<f32>, seed: u64, sizes: BatchSizes) -> Result<()> {
        let (network, rank) = (self.network, self.rank);
        let count = network.layers();
        let place = (rank.rank(), rank.world_size());
        let shard = |i: usize| Sharded::new(&params[network.range(i)], place.0, place.1);
        let mut layers: Vec<Sharded> = (0..count).map(shard).collect();
        drop(params);
        let mut adams: Vec<Adam> = (0..count).map(|_| Adam::default()).collect();
        for step in 0..STEPS {
            let (x, labels) = self.micro_batch(seed, step, 0, sizes);
            let memory = Memory::default();
            let mut activations: Activations = vec![x];
            (self.answer.forward_sharded)(rank, &layers, &memory, &mut |i, params| {
                network.forward(i, params, &mut activations);
                Ok(())
            })?;
            let (value, mut gradient) = loss(&activations[count], &labels);
            self.found.losses.push(value);
            let mut largest = 0;
            let means = (self.answer.backward_sharded)(rank, &layers, &memory, &mut |i, params| {
                let all = network.backward(i, params, &activations, &mut gradient);
                largest = largest.max(all.capacity());
                Ok(all)
            })?;
            for ((layer, mean), adam) in layers.iter_mut().zip(&means).zip(&mut adams) {
                adam.step(&mut layer.own, mean)?;
            }
            let kept = [
                layers.iter().map(|l| l.own.capacity()).sum(),
                means.iter().map(Vec::capacity).sum(),
                adams.iter().map(Adam::numbers).sum(),
            ];
            self.keeps(kept, memory.peak() + largest);
        }
        Ok(())
    }

    fn engine(&mut self, mut params: Vec<f32>, seed: u64, sizes: BatchSizes) -> Result<()> {
        let scaler = DynamicScaler::new(1024.0, 100)?;
        let mut state = EngineState::new(sizes.accumulation, Box::new(scaler), 0.0)?;
        let mut adam = Adam::default();
        for step in 0..STEPS {
            self.found.losses.push(0.0);
            for micro in 0..sizes.accumulation {
                let batch = self.micro_batch(seed, step, micro, sizes);
                let mut gradients = self.gradients(&params, batch, sizes.accumulation);
                let scale = state.scaler.scale() as f32;
                gradients.iter_mut().for_each(|g| *g *= scale);
                (self.answer.engine_backward)(&mut state, &gradients)?;
                let (accumulated, briefly) = (state.gradients.capacity(), gradients.capacity());
                drop(gradients);
                let update = &mut |p: &mut [f32], g: &[f32]| adam.step(p, g);
                let outcome = (self.answer.engine_step)(&mut state, self.rank, &mut params, update)?;
                let last = micro + 1 == sizes.accumulation;
                ensure!(
                    last == matches!(outcome, Outcome::Taken { .. }),
                    "engine_step returned {outcome:?} after micro-batch {} of {}",
                    micro + 1,
                    sizes.accumulation
                );
                let optimizer = adam.numbers();
                self.keeps([params.capacity(), accumulated, optimizer], briefly);
            }
        }
        Ok(())
    }
}

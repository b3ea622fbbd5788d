//! Four trainers, each named by its bottleneck, and its cure.

use std::collections::HashMap;

use anyhow::{Context, Result};
use candle_core::Device;
use canopy::{
    loader::{Batch, batches},
    optim::OptimConfig,
    profile::{self, Kind, Pattern, Stream, Timeline},
    train::{
        Loss,
        short::{Forest, Learner},
    },
};
use canopy_data::sample::Method;
use lesson05::Lesson05;

use super::device::{Memory, Queue, Weight, beside};

/// The trainers A to D, and what cures each.
pub const TRAINERS: [(char, Pattern, &str); 4] = [
    ('A', Pattern::Compute, "fused operators"),
    ('B', Pattern::Launch, "one launch for all averages"),
    ('C', Pattern::Synchronisation, "norms stay on the device"),
    ('D', Pattern::Input, "thinned once, before training"),
];

/// Clouds of a batch, and points of a cloud.
fn sizes(trainer: Pattern) -> (usize, usize) {
    match trainer {
        Pattern::Compute | Pattern::Input => (16, 256),
        Pattern::Launch | Pattern::Synchronisation => (2, 32),
    }
}

/// Steps that are recorded, after one to warm up.
pub const STEPS: usize = 24;

/// The device's memory for a trainer; the batches of `forest` are then of its size.
fn memory(trainer: Pattern, cured: bool, forest: &mut Forest) -> Result<Memory> {
    forest.config.points = sizes(trainer).1;
    let model = forest.model()?;
    let optimizer = OptimConfig::adamw().build(model.params())?;
    let mut learner = Learner::new(model, optimizer, Loss::CROSS_ENTROPY);
    learner.plain = trainer == Pattern::Compute && !cured;
    Memory::new(learner)
}

/// Trains [`STEPS`] steps, and records them.
pub fn run(trainer: Pattern, cured: bool, forest: &mut Forest) -> Result<Timeline> {
    let memory = memory(trainer, cured, forest)?;
    let (clouds, points) = sizes(trainer);
    let epochs = (0..).flat_map(|epoch| batches(&forest.order(epoch), clouds, true));
    let order: Vec<Vec<usize>> = epochs.take(1 + STEPS).collect();
    let mut collate = forest.collate();
    if trainer == Pattern::Input {
        collate.data = collate.data.sampled(Method::Farthest, points, forest.config.seed);
    }
    let source = order.iter().map(|records| collate.batch(records, 0));
    let mut source: Box<dyn Iterator<Item = Result<Batch>>> = match (trainer, cured) {
        (Pattern::Input, false) => Box::new(source),
        _ => Box::new(source.collect::<Vec<_>>().into_iter()),
    };
    let mut next = || source.next().context("there is no batch left")?;
    let operands = |n| OPERANDS.map(|of| (name(n, of), n));
    let names = (0..memory.neurons.len()).flat_map(operands).collect();
    beside(memory, |queue| {
        let step = |batch| step(queue, &names, (trainer, cured), batch);
        step(next()?)?;
        queue.wait()?;
        let recording = profile::start(&Device::Cpu)?;
        for _ in 0..STEPS {
            let _step = profile::span("step", Kind::Other);
            let batch = profile::timed("next batch", Kind::Load, &mut next)?;
            step(batch)?;
        }
        queue.wait()?;
        profile::stop(recording)
    })
}

const OPERANDS: [&str; 3] = ["weight", "average", "result"];

/// The name of an operand, as a framework keeps it.
fn name(neuron: usize, of: &str) -> String {
    format!("neuron.{neuron}.{of}")
}

/// The exponential moving average of a weight, operator by operator.
const OPERATORS: [fn(&mut Weight); 3] = [
    |[_, average, _]| *average *= 0.999,
    |[w, _, result]| *result = 0.001 * *w,
    |[_, average, result]| *average += *result,
];

type Names = HashMap<String, usize>;

/// Launches a step. `names` has the neuron of each operand.
fn step(queue: &Queue, names: &Names, (trainer, cured): (Pattern, bool), batch: Batch) -> Result<()> {
    let _launch = profile::span("launch", Kind::Launch);
    let neurons = 0..names.len() / OPERANDS.len();
    queue.copy(batch);
    queue.launch("step", Memory::step);
    match (trainer, cured) {
        (Pattern::Launch, false) => {
            queue.launch("lay out", Memory::lay_out);
            for (neuron, operator) in neurons.flat_map(|n| OPERATORS.map(|operator| (n, operator))) {
                // As a framework does it: each operand is looked up by name.
                let found = OPERANDS.map(|of| names.get(&name(neuron, of)));
                let neuron = *found[0].context("the neuron has no weight")?;
                queue.launch("operator", move |memory| {
                    memory.neurons[neuron].iter_mut().for_each(operator);
                    Ok(())
                });
            }
        }
        (Pattern::Launch, true) => queue.launch("average", |memory| {
            memory.lay_out()?;
            for operator in OPERATORS {
                memory.neurons.iter_mut().flatten().for_each(operator);
            }
            Ok(())
        }),
        (Pattern::Synchronisation, false) => {
            queue.launch("lay out", Memory::lay_out);
            for neuron in neurons {
                queue.read(move |memory| memory.norm(neuron))?;
            }
        }
        (Pattern::Synchronisation, true) => queue.launch("norms", |memory| {
            memory.lay_out()?;
            memory.norms = (0..memory.neurons.len()).map(|n| memory.norm(n)).collect();
            Ok(())
        }),
        _ => {}
    }
    Ok(())
}

/// Exercise 5.2 on this device: a step of trainer A, timed by a host that does not wait, and by the student's function
/// (the least of 15 times). Nanoseconds.
pub fn timed(answer: &Lesson05, forest: &mut Forest) -> Result<[u64; 2]> {
    let memory = memory(Pattern::Compute, true, forest)?;
    let batch = forest.batch(&forest.order(0)[..16], 0)?;
    beside(memory, |queue| {
        queue.copy(batch);
        let mut launch = || {
            queue.launch("step", Memory::step);
            Ok(())
        };
        let waited = (answer.time_device)(queue, 3, 15, &mut launch)?;
        let start = queue.now();
        launch()?;
        let blind = queue.now() - start;
        Ok([blind, waited.into_iter().min().unwrap_or(0)])
    })
}

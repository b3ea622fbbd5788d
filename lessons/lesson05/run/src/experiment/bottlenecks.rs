//! Four trainers, each with one bottleneck, and its cure.

use std::{collections::HashMap, ops::Range, sync::Arc};

use anyhow::Result;
use candle_core::{DType, Device};
use canopy::{
    loader::{Batch, Loader, batches, epoch_order},
    model::{Kind as Model, PointNet, PointNetConfig},
    profile::{self, Kind, Stream, Timeline},
};
use lesson05::Lesson05;

use super::{
    queue::Queue,
    rows::{OPERATORS, State},
    sources::{Sources, TREES, as_candle},
};

/// A trainer, named by its bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trainer {
    Compute,
    Launch,
    Synchronisation,
    Input,
}

impl Trainer {
    pub const ALL: [Self; 4] = [Self::Compute, Self::Launch, Self::Synchronisation, Self::Input];

    /// Its name as long as the bottleneck is not found.
    pub fn letter(self) -> char {
        ['A', 'B', 'C', 'D'][self as usize]
    }

    /// What slows it down.
    pub fn bottleneck(self) -> &'static str {
        match self {
            Self::Compute => "plain operators",
            Self::Launch => "AdamW neuron by neuron, operator by operator, with operands looked up by name",
            Self::Synchronisation => "the host reads the length of each neuron's gradient",
            Self::Input => "text files parsed between the steps",
        }
    }

    /// What is changed.
    pub fn cure(self) -> &'static str {
        match self {
            Self::Compute => "fused operators",
            Self::Launch => "one launch for the whole update",
            Self::Synchronisation => "lengths stay on the device",
            Self::Input => "sub-sampled once, one worker prefetches",
        }
    }

    /// Clouds of a batch, points of a cloud, what the network's width is divided by.
    fn size(self) -> (usize, usize, usize) {
        match self {
            Self::Compute => (16, 256, 2),
            Self::Input => (16, 256, 8),
            Self::Launch | Self::Synchronisation => (2, 32, 8),
        }
    }

    /// Steps that are recorded.
    fn steps(self) -> usize {
        match self {
            Self::Compute => 4,
            Self::Input => 24,
            Self::Launch | Self::Synchronisation => 240,
        }
    }
}

/// What was recorded of a run.
pub struct Run {
    pub timeline: Timeline,
    pub steps: usize,
    /// Nanoseconds a step.
    pub step: f64,
    /// How often the host waited for a number.
    waits: u64,
    /// Loss of the last step.
    pub loss: f64,
}

impl Run {
    pub fn waits_per_step(&self) -> u64 {
        self.waits / self.steps as u64
    }
}

/// Where batches come from.
enum Source {
    /// Loaded between the steps.
    Here,
    /// Loaded before.
    Ready(Vec<Batch>),
}

/// A few warm-up steps, then the recorded ones.
pub fn run(trainer: Trainer, fixed: bool, sources: &Sources) -> Result<Run> {
    let (queue, rows) = device(trainer, fixed, sources)?;
    let (size, points, _) = trainer.size();
    let all = trainer.steps() + WARM_UP;
    let order: Vec<Vec<usize>> = (0..)
        .flat_map(|epoch| batches(&epoch_order(TREES, sources.seed, epoch), size, true))
        .take(all)
        .collect();
    let collate = sources.collate(trainer == Trainer::Input && !fixed, points);
    let mut steps = Steps {
        trainer,
        fixed,
        queue: &queue,
        rows: &rows,
        names: names(&rows),
    };
    if trainer == Trainer::Input && fixed {
        let loader = Loader::new(Arc::new(collate), 1, 4);
        let mut ahead = loader.epoch(0, order);
        return steps.all(&mut |_| match ahead.next() {
            Some(batch) => batch,
            None => anyhow::bail!("the loader has no batch left"),
        });
    }
    let source = match trainer {
        Trainer::Input => Source::Here,
        _ => Source::Ready(order.iter().map(|b| collate.batch(b, 0)).collect::<Result<_>>()?),
    };
    steps.all(&mut |i| match &source {
        Source::Here => collate.batch(&order[i], 0),
        Source::Ready(list) => Ok(list[i].clone()),
    })
}

const WARM_UP: usize = 2;

/// A device with the trainer's network, and the numbers of each neuron.
fn device(trainer: Trainer, fixed: bool, sources: &Sources) -> Result<(Queue, Rows)> {
    let (_, _, width) = trainer.size();
    let config = PointNetConfig {
        kind: Model::Vanilla,
        classes: sources.memory.species.len(),
        width,
        dropout: 0.0,
        ..PointNetConfig::default()
    };
    let model = PointNet::new(&config, &Device::Cpu, DType::F32, sources.seed)?;
    let state = State::new(model, trainer == Trainer::Compute && !fixed)?;
    let rows = state.rows();
    Ok((Queue::new(state)?, rows))
}

type Rows = Vec<(usize, Range<usize>)>;

/// The numbers of each neuron by name, as a framework keeps its operands.
fn names(rows: &Rows) -> HashMap<String, (usize, Range<usize>)> {
    let of = |(i, row): (usize, &(usize, Range<usize>))| {
        ["weight", "gradient", "moment"].map(|of| (name_of(i, of), row.clone()))
    };
    rows.iter().enumerate().flat_map(of).collect()
}

struct Steps<'a> {
    trainer: Trainer,
    fixed: bool,
    queue: &'a Queue,
    rows: &'a Rows,
    names: HashMap<String, (usize, Range<usize>)>,
}

fn name_of(neuron: usize, of: &str) -> String {
    format!("neuron.{neuron}.{of}")
}

impl Steps<'_> {
    fn all(&mut self, next: &mut dyn FnMut(usize) -> Result<Batch>) -> Result<Run> {
        for i in 0..WARM_UP {
            self.one(next(i)?)?;
        }
        self.queue.wait()?;
        let before = self.queue.waits();
        let recording = profile::start(&Device::Cpu)?;
        self.queue.record();
        let steps = self.trainer.steps();
        for i in 0..steps {
            let _step = profile::span("step", Kind::Other);
            let batch = profile::timed("next batch", Kind::Load, || next(WARM_UP + i))?;
            self.one(batch)?;
        }
        self.queue.wait()?;
        let timeline = profile::stop(recording)?;
        let waits = self.queue.waits() - before;
        Ok(Run {
            step: timeline.wall as f64 / steps as f64,
            timeline,
            steps,
            waits,
            loss: self.queue.read(|s| Ok(s.loss))?,
        })
    }

    fn one(&self, batch: Batch) -> Result<()> {
        let queue = self.queue;
        let launching = profile::span("launch forward and backward", Kind::Launch);
        queue.copy("to device", move |s| {
            s.input = Some(batch.to_device(&Device::Cpu).map_err(as_candle)?);
            Ok(())
        });
        queue.launch("forward and backward", State::gradients);
        drop(launching);
        match (self.trainer, self.fixed) {
            (Trainer::Launch, false) => self.update_by_operators(),
            (Trainer::Synchronisation, false) => self.clip_by_the_host()?,
            (Trainer::Synchronisation, true) => self.clip_on_the_device(),
            _ => {}
        }
        if self.trainer != Trainer::Launch || self.fixed {
            let _launching = profile::span("launch the update", Kind::Launch);
            queue.launch("update", State::update);
        }
        Ok(())
    }

    /// As a script with a loop over neurons does it: one launch for each operator, its operands looked up by name.
    fn update_by_operators(&self) {
        let _launching = profile::span("launch the update", Kind::Launch);
        self.queue.launch("lay out", State::lay_out);
        for neuron in 0..self.rows.len() {
            for (number, name) in OPERATORS.into_iter().enumerate() {
                let found =
                    ["weight", "gradient", "moment"].map(|of| self.names.get(&name_of(neuron, of)).cloned());
                let [Some((at, row)), _, _] = found else { continue };
                self.queue.launch(name, move |s| {
                    s.operator(number, at, row.clone());
                    Ok(())
                });
            }
        }
        self.queue.launch("put back", State::put_back);
    }

    /// Clips the gradient of each neuron to [`LONGEST`]; the host reads its length.
    fn clip_by_the_host(&self) -> Result<()> {
        let _clip = profile::span("clip", Kind::Launch);
        self.queue.launch("lay out", State::lay_out);
        for (at, row) in self.rows {
            let (at, own) = (*at, row.clone());
            let length = self.queue.read(move |s| Ok(s.norm(at, own.clone())))?;
            if length > LONGEST {
                let row = row.clone();
                self.queue.launch("shorten", move |s| {
                    s.shorten(at, row.clone(), LONGEST / length);
                    Ok(())
                });
            }
        }
        self.queue.launch("take over", State::take_over);
        Ok(())
    }

    fn clip_on_the_device(&self) {
        let _clip = profile::span("clip", Kind::Launch);
        let rows = self.rows.clone();
        self.queue.launch("clip", move |s| {
            s.lay_out()?;
            for (at, row) in &rows {
                let length = s.norm(*at, row.clone());
                if length > LONGEST {
                    s.shorten(*at, row.clone(), LONGEST / length);
                }
            }
            s.take_over()
        });
    }
}

/// The longest gradient of a neuron.
const LONGEST: f64 = 0.1;

/// Exercise 5.2 on this device: forward and backward of a batch of trainer A, timed by a host that does not wait, and by the
/// student's function. Nanoseconds, the median of each.
pub fn timed(answer: &Lesson05, sources: &Sources) -> Result<(f64, f64)> {
    let (queue, _) = device(Trainer::Compute, true, sources)?;
    let (size, points, _) = Trainer::Compute.size();
    let records: Vec<usize> = (0..size).collect();
    let batch = sources.collate(false, points).batch(&records, 0)?;
    queue.copy("to device", move |s| {
        s.input = Some(batch.to_device(&Device::Cpu).map_err(as_candle)?);
        Ok(())
    });
    let mut blind = Vec::new();
    for _ in 0..15 {
        let start = queue.now();
        queue.launch("forward and backward", State::gradients);
        blind.push(queue.now() - start);
    }
    let times = (answer.time_device)(&queue, 3, 15, &mut || {
        queue.launch("forward and backward", State::gradients);
        Ok(())
    })?;
    Ok((median(blind), median(times)))
}

fn median(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0) as f64
}

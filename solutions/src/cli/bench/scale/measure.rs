//! What is measured: short trainings, all-reduces and messages of ranks that are threads, or of ranks that are processes.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use candle_core::{DType, Device};
use serde::Serialize;

use super::Args;
use crate::{
    cli::collective::Collective,
    device::Chosen,
    model::PointNet,
    parallel::{
        AllReduce, Cost, Place, Processes,
        measure::{Seconds, all_reduce_seconds, messages, round_trips},
        ring_all_reduce, ring_seconds, strong_efficiency, tree_all_reduce, weak_efficiency,
    },
    train::{
        Config,
        ranks::{
            RankFunctions,
            measure::{ShortRun, Start, short_run},
        },
        short::Forest,
    },
};

/// Measurements of ranks that are threads, or of ranks that are processes.
#[derive(Debug, Serialize)]
pub struct Engine {
    pub name: String,
    /// The step of one rank, with the batch of one rank and with that of all: the baselines.
    pub one_ms: f64,
    pub one_strong_ms: f64,
    /// The batch grows with the ranks.
    pub weak: Vec<Row>,
    /// All ranks share one batch.
    pub strong: Vec<Row>,
    pub all_reduces: Vec<AllReduced>,
    /// The cost of a message of n bytes, α + n·β.
    pub alpha_us: f64,
    pub beta_ns: f64,
}

/// A step of several ranks.
#[derive(Debug, Serialize)]
pub struct Row {
    ranks: usize,
    /// Clouds in the batch of all ranks.
    batch: usize,
    step_ms: f64,
    efficiency: f64,
    /// How many times as long a step takes that reduces all gradients after the backward pass: above 1, overlap wins.
    overlap: f64,
    /// The gradients that a rank sends in a step.
    sent_mb: f64,
    all_reduce_ms: f64,
    /// The part of it after the backward pass.
    waited_ms: f64,
}

/// Times of an all-reduce, in µs.
#[derive(Debug, Serialize)]
pub struct AllReduced {
    ranks: usize,
    bytes: usize,
    /// As training calls it.
    engine_us: f64,
    /// The bytes that a ring sends, 2(p − 1)/p of the data, in this time, as nccl-tests count the bandwidth.
    engine_gb_per_s: f64,
    /// By MPI or NCCL called directly.
    direct_us: Option<f64>,
    ring_us: f64,
    tree_us: f64,
}

impl AllReduced {
    fn new(ranks: usize, bytes: usize, seconds: &Seconds, direct: Option<f64>) -> Self {
        let sent = 2.0 * (ranks as f64 - 1.0) / ranks as f64 * bytes as f64;
        Self {
            ranks,
            bytes,
            engine_us: 1e6 * seconds.engine,
            engine_gb_per_s: 1e-9 * sent / seconds.engine,
            direct_us: direct.map(|seconds| 1e6 * seconds),
            ring_us: 1e6 * seconds.ring,
            tree_us: 1e6 * seconds.tree,
        }
    }
}

/// Lengths of the timed messages, in f32 numbers.
const MESSAGES: [usize; 6] = [1, 256, 1 << 12, 1 << 15, 1 << 18, 1 << 20];

/// Sizes of the timed all-reduces, in bytes: 4 B to 16 MiB.
fn sizes() -> impl Iterator<Item = usize> {
    (2..=24).step_by(2).map(|power| 1 << power)
}

/// The network and the data of the trainings.
pub struct Work<'a> {
    args: &'a Args,
    forest: Forest,
    pub chosen: Chosen,
}

impl<'a> Work<'a> {
    /// Opens the built-in forest with the network of `args`, to train on the device `chosen`.
    pub fn open(args: &'a Args, chosen: Chosen) -> Result<Self> {
        let forest = Forest::open(Config {
            model: args.model,
            points: args.points,
            width: args.width,
            epochs: 2,
            ..Config::default()
        })?;
        Ok(Self { args, forest, chosen })
    }

    /// The size of the network's gradients.
    pub fn gradient_bytes(&self) -> Result<usize> {
        let network = self.forest.config.network(self.forest.data.species.len());
        let model = PointNet::new(&network, &Device::Cpu, DType::F32, 0)?;
        Ok(model.param_count() * size_of::<f32>())
    }

    /// Measures ranks that are threads.
    pub fn threads(&self) -> Result<Engine> {
        let name = self.args.link.map_or("threads".into(), |link| {
            format!("threads, whose gradients cross an emulated link of {link} GB/s")
        });
        let mut engine = self.baselines(name)?;
        for &ranks in self.args.ranks.iter().filter(|&&ranks| ranks > 1) {
            self.scaled(ranks, &mut engine, Start::Threads)?;
            for bytes in sizes() {
                let seconds = |all_reduce: AllReduce| {
                    let numbers = bytes / size_of::<f32>();
                    all_reduce_seconds(ranks, numbers, &all_reduce, self.args.repeats)
                };
                let ring = seconds(Arc::new(ring_all_reduce))?;
                let times = Seconds {
                    engine: ring,
                    direct: ring,
                    ring,
                    tree: seconds(Arc::new(tree_all_reduce))?,
                };
                engine
                    .all_reduces
                    .push(AllReduced::new(ranks, bytes, &times, None));
            }
        }
        engine.with_messages(messages(&MESSAGES, self.args.repeats)?)
    }

    /// Measures the processes of a job, of which this one is at `place`. Returns the results on rank 0.
    pub fn processes(&self, place: &Place, processes: Box<dyn Processes>) -> Result<Option<Engine>> {
        let (leads, ranks) = (place.rank == 0, place.world_size);
        let links = processes.links()?;
        let name = match self.args.collective {
            Some(Collective::Nccl) => format!("NCCL, {ranks} GPUs"),
            _ => format!("MPI, {ranks} processes"),
        };
        // The other ranks wait at the barrier, so that the baseline has the machine to itself.
        let mut engine = match leads {
            true => self.baselines(name)?,
            false => Engine::new(name, [1.0; 2]),
        };
        links.barrier()?;
        self.scaled(ranks, &mut engine, Start::Processes(&*processes))?;
        let ring: AllReduce = Arc::new(ring_all_reduce);
        for bytes in sizes() {
            let numbers = bytes / size_of::<f32>();
            let seconds = processes.all_reduce_seconds(&*links, &ring, numbers, self.args.repeats)?;
            let direct = Some(seconds.direct);
            engine
                .all_reduces
                .push(AllReduced::new(ranks, bytes, &seconds, direct));
        }
        let messages = round_trips(&*links, &MESSAGES, self.args.repeats)?;
        links.barrier()?;
        drop(links);
        processes.finish(None);
        leads.then(|| engine.with_messages(messages)).transpose()
    }

    /// Steps of one rank: with the batch of one rank, and with that of all.
    fn baselines(&self, name: String) -> Result<Engine> {
        let one = |batch| -> Result<f64> { Ok(1e3 * self.run(1, batch, true, Start::Threads)?.step) };
        Ok(Engine::new(
            name,
            [one(self.args.batch)?, one(self.args.batch * self.args.most())?],
        ))
    }

    /// Measures weak and strong scaling to `ranks` ranks, with and without overlap, against the baselines of `engine`.
    fn scaled(&self, ranks: usize, engine: &mut Engine, start: Start) -> Result<()> {
        let weak = |ms| weak_efficiency(engine.one_ms, ms);
        let strong = |ms| strong_efficiency(engine.one_strong_ms, ms, ranks);
        let weak = self.row(ranks, self.args.batch * ranks, weak, start)?;
        let strong = self.row(ranks, self.args.batch * self.args.most(), strong, start)?;
        engine.weak.push(weak);
        engine.strong.push(strong);
        Ok(())
    }

    fn row(&self, ranks: usize, batch: usize, efficiency: impl Fn(f64) -> f64, start: Start) -> Result<Row> {
        let overlapped = self.run(ranks, batch, true, start)?;
        let after = self.run(ranks, batch, false, start)?;
        let stats = overlapped.stats;
        let steps = stats.steps.max(1) as f64;
        Ok(Row {
            ranks,
            batch,
            step_ms: 1e3 * overlapped.step,
            efficiency: efficiency(1e3 * overlapped.step),
            overlap: after.step / overlapped.step,
            sent_mb: stats.gradients.bytes as f64 / steps / 1e6,
            all_reduce_ms: 1e3 * stats.communicating / steps,
            waited_ms: 1e3 * stats.waited / steps,
        })
    }

    /// Trains for two epochs with `batch` clouds in each step.
    fn run(&self, ranks: usize, batch: usize, overlap: bool, start: Start) -> Result<ShortRun> {
        let config = Config {
            ranks,
            batch,
            ..self.forest.config.clone()
        };
        config.validate()?;
        let records = self.forest.split.train.iter().cycle();
        let records: Vec<usize> = records.take(batch * self.args.steps).copied().collect();
        let link = self.args.link.map(|bandwidth| self.args.cost(bandwidth));
        let functions = RankFunctions {
            overlap,
            all_reduce: link.map_or_else(|| Arc::new(ring_all_reduce), slowed),
            ..RankFunctions::default()
        };
        let data = (&self.forest.data, &*records);
        short_run(self.chosen.clone(), &config, data, functions, start)
    }
}

impl Engine {
    /// Without measurements of several ranks.
    fn new(name: String, [one_ms, one_strong_ms]: [f64; 2]) -> Self {
        Self {
            name,
            one_ms,
            one_strong_ms,
            weak: Vec::new(),
            strong: Vec::new(),
            all_reduces: Vec::new(),
            alpha_us: 0.0,
            beta_ns: 0.0,
        }
    }

    fn with_messages(self, messages: Vec<(f64, f64)>) -> Result<Self> {
        let Cost { alpha, beta } = Cost::fit(&messages)?;
        Ok(Self {
            alpha_us: 1e6 * alpha,
            beta_ns: 1e9 * beta,
            ..self
        })
    }

    /// The cost of a message.
    pub fn cost(&self) -> Cost {
        Cost {
            alpha: 1e-6 * self.alpha_us,
            beta: 1e-9 * self.beta_ns,
        }
    }
}

/// A ring that takes at least as long as over a link of cost `cost`; it waits without using a core, as for a network card.
fn slowed(cost: Cost) -> AllReduce {
    Arc::new(move |link, data| {
        let began = Instant::now();
        ring_all_reduce(link, data)?;
        let seconds = ring_seconds(link.world_size(), size_of_val(data) as f64, cost);
        thread::sleep(Duration::from_secs_f64(seconds).saturating_sub(began.elapsed()));
        Ok(())
    })
}

//! What is measured of an engine: of ranks that are threads, and of ranks that are processes.

use std::{env, process::Stdio, sync::Arc};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::{
    Args,
    steps::{Row, Work},
};
use crate::{
    cli::{collective::Collective, launch::mpirun},
    parallel::{
        Algorithm, AllReduce, Cost, Place, Processes,
        measure::{all_reduce_seconds, messages, round_trips},
        ring_all_reduce,
    },
    train::ranks::measure::Start,
};

/// Measurements of one engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// Bytes and seconds of single messages.
    pub messages: Vec<(f64, f64)>,
    /// The line through them.
    pub cost: Cost,
}

/// Times of an all-reduce, in µs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AllReduced {
    pub ranks: usize,
    pub bytes: usize,
    /// As training calls it.
    pub engine_us: f64,
    /// By MPI or NCCL called directly.
    pub direct_us: Option<f64>,
    pub ring_us: f64,
    pub tree_us: f64,
}

/// Lengths of the timed messages, in f32 numbers.
const MESSAGES: [usize; 6] = [1, 256, 1 << 12, 1 << 15, 1 << 18, 1 << 20];

/// Sizes of the timed all-reduces, in bytes: 4 B to 16 MiB.
fn sizes() -> impl Iterator<Item = usize> {
    (2..=24).step_by(2).map(|power| 1 << power)
}

impl Engine {
    /// The engine `name`, with the `steps` of each number of ranks against those of one, in seconds.
    fn new(
        name: String,
        one: [f64; 2],
        steps: Vec<[Row; 2]>,
        all_reduces: Vec<AllReduced>,
        messages: Vec<(f64, f64)>,
    ) -> Result<Self> {
        let (weak, strong) = steps.into_iter().map(|[weak, strong]| (weak, strong)).unzip();
        Ok(Self {
            name,
            one_ms: 1e3 * one[0],
            one_strong_ms: 1e3 * one[1],
            weak,
            strong,
            all_reduces,
            cost: Cost::fit(&messages)?,
            messages,
        })
    }
}

/// Measures ranks that are threads.
pub fn threads(args: &Args, work: &Work) -> Result<Engine> {
    let one = work.baselines()?;
    let (mut steps, mut all_reduces) = (Vec::new(), Vec::new());
    for &ranks in args.ranks.iter().filter(|&&ranks| ranks > 1) {
        steps.push(work.scaled(ranks, one, Start::Threads)?);
        for bytes in sizes() {
            let micros = |algorithm: Algorithm| -> Result<f64> {
                let numbers = bytes / size_of::<f32>();
                let seconds = all_reduce_seconds(ranks, numbers, &algorithm.function(), args.repeats)?;
                Ok(1e6 * seconds)
            };
            let (ring_us, tree_us) = (micros(Algorithm::Ring)?, micros(Algorithm::Tree)?);
            all_reduces.push(AllReduced {
                ranks,
                bytes,
                engine_us: ring_us,
                direct_us: None,
                ring_us,
                tree_us,
            });
        }
    }
    let name = args.link.map_or("threads".into(), |link| {
        format!("threads, whose gradients cross an emulated link of {link} GB/s")
    });
    Engine::new(name, one, steps, all_reduces, messages(&MESSAGES, args.repeats)?)
}

/// Measures the processes of a job, of which this one is at `place`. Returns the results on rank 0.
///
/// # Errors
/// Returns an error if training or MPI fails.
pub fn processes(
    args: &Args,
    work: &Work,
    place: &Place,
    processes: Box<dyn Processes>,
) -> Result<Option<Engine>> {
    let (leads, ranks) = (place.rank == 0, place.world_size);
    let links = processes.links()?;
    // The other ranks wait at the barrier, so that the baseline has the machine to itself.
    let one = if leads { work.baselines()? } else { [1.0; 2] };
    links.barrier()?;
    let steps = work.scaled(ranks, one, Start::Processes(&*processes))?;
    let ring: AllReduce = Arc::new(ring_all_reduce);
    let mut all_reduces = Vec::new();
    for bytes in sizes() {
        let seconds = processes.all_reduce_seconds(&*links, &ring, bytes / size_of::<f32>(), args.repeats)?;
        all_reduces.push(AllReduced {
            ranks,
            bytes,
            engine_us: 1e6 * seconds.engine,
            direct_us: Some(1e6 * seconds.direct),
            ring_us: 1e6 * seconds.ring,
            tree_us: 1e6 * seconds.tree,
        });
    }
    let messages = round_trips(&*links, &MESSAGES, args.repeats)?;
    links.barrier()?;
    drop(links);
    processes.finish(None);
    let name = match args.collective {
        Some(Collective::Nccl) => format!("NCCL, {ranks} GPUs"),
        _ => format!("MPI, {ranks} processes"),
    };
    let engine = || Engine::new(name, one, vec![steps], all_reduces, messages);
    leads.then(engine).transpose()
}

/// Runs the command of this process with mpirun for each number of ranks above 1, and returns what its rank 0 printed as JSON.
///
/// # Errors
/// Returns an error if this program was built without MPI, there is no mpirun, or a job fails.
pub fn by_mpirun(args: &Args) -> Result<Vec<Engine>> {
    #[derive(Deserialize)]
    struct Found {
        engines: Vec<Engine>,
    }
    // The options of this process, which are the same for the ranks, without a plot of theirs.
    let mut words: Vec<_> = env::args_os().skip(1).collect();
    if let Some(at) = words.iter().position(|word| word == "--plot") {
        words.drain(at..at + 2);
    }
    words.retain(|word| word != "--json" && !word.to_string_lossy().starts_with("--plot="));
    let mut engines = Vec::new();
    for &ranks in args.ranks.iter().filter(|&&ranks| ranks > 1) {
        let mut job = mpirun(ranks)?;
        let output = job.args(&words).arg("--json").stderr(Stdio::inherit()).output();
        let output = output.context("mpirun does not start")?;
        ensure!(
            output.status.success(),
            "mpirun -n {ranks} failed: {}",
            output.status
        );
        let found: Found =
            serde_json::from_slice(&output.stdout).context("what rank 0 printed is not the expected JSON")?;
        engines.extend(found.engines);
    }
    Ok(engines)
}

//! `canopy bench scale`: steps and all-reduces of 1 to N ranks, the cost of messages, and what follows for other links and more
//! ranks.

mod measure;
mod predict;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::{
    cli::{
        collective::{self, Collective},
        launcher,
        table::show,
    },
    device,
    model::Kind,
    parallel::Cost,
    train::{choice, machine},
};
use measure::{Engine, Work};
use predict::Predicted;

/// Options of `canopy bench scale`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Each rank has one thread, so with more ranks than cores the ranks share cores, and the efficiency falls for that reason.
Ranks are threads, or the processes of mpirun or srun. With --collective nccl these train on GPUs, otherwise on the CPU:
  canopy bench scale --ranks 1,2
  canopy bench scale --ranks 1,2 --link 0.125
  mpirun -n 8 canopy bench scale
  mpirun -n 4 canopy bench scale --collective nccl --batch 256")]
pub struct Args {
    /// Numbers of ranks to measure; the baseline is always one rank
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_name = "N,…")]
    ranks: Vec<usize>,
    /// Network
    #[arg(long, default_value = "vanilla", value_parser = choice::<Kind>(&["full", "vanilla"]))]
    model: Kind,
    /// Points per cloud
    #[arg(long, default_value_t = 256, value_name = "N")]
    points: usize,
    /// Clouds per rank; in strong scaling, the batch size is this times the largest number of ranks
    #[arg(long, default_value_t = 8, value_name = "N")]
    batch: usize,
    /// Divide the width of every hidden layer
    #[arg(long, default_value_t = 1, value_name = "N")]
    width: usize,
    /// Steps in each of two epochs; the fastest step counts
    #[arg(long, default_value_t = 6, value_name = "N")]
    steps: usize,
    /// Repetitions of each all-reduce, of which the median counts
    #[arg(long, default_value_t = 50, value_name = "N")]
    repeats: usize,
    /// Let ranks that are threads wait as if their messages crossed a link of this bandwidth, and of --latency, GB/s: shows
    /// what overlap hides
    #[arg(long, value_name = "GB/S")]
    link: Option<f64>,
    /// Latency of a message over --link and over the links of the predictions, in µs
    #[arg(long, default_value_t = 5.0, value_name = "US")]
    latency: f64,
    /// What carries the messages between processes [default: mpi]
    #[arg(long, value_name = "ENGINE")]
    collective: Option<Collective>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The cost of a message over a link of this bandwidth in GB/s.
    fn cost(&self, bandwidth: f64) -> Cost {
        Cost {
            alpha: self.latency * 1e-6,
            beta: 1e-9 / bandwidth,
        }
    }

    /// The largest number of ranks.
    fn most(&self) -> usize {
        self.ranks.iter().copied().max().unwrap_or(1)
    }
}

#[derive(Debug, Serialize)]
struct Found {
    bench: &'static str,
    processor: String,
    cores: usize,
    model: Kind,
    points: usize,
    gradient_bytes: usize,
    #[serde(flatten)]
    engine: Engine,
    /// What the predictions assume.
    assumed: String,
    /// Weak efficiency, not measured.
    predicted: Vec<Predicted>,
}

/// Measures, predicts, and prints the results. One of several processes of a launcher measures these processes.
pub fn run(args: &Args) -> Result<ExitCode> {
    let link = args.link.unwrap_or(1.0);
    let ranks = !args.ranks.is_empty() && args.ranks.iter().all(|p| (1..=64).contains(p));
    let latency = args.latency;
    for (name, value, fits, expected) in [
        (
            "--ranks",
            format!("{:?}", args.ranks),
            ranks,
            "at least one number, each from 1 to 64",
        ),
        (
            "--latency",
            latency.to_string(),
            (0.0..1e9).contains(&latency),
            "at least 0 and below 1e9",
        ),
        (
            "--link",
            link.to_string(),
            link > 0.0 && link.is_finite(),
            "a number above 0",
        ),
        ("--batch", args.batch.to_string(), args.batch >= 2, "at least 2"),
        ("--steps", args.steps.to_string(), args.steps >= 1, "at least 1"),
        (
            "--repeats",
            args.repeats.to_string(),
            args.repeats >= 1,
            "at least 1",
        ),
    ] {
        ensure!(fits, "{name} is {value}: expected {expected}");
    }
    let place = launcher::place()?;
    collective::check(args.collective, place.as_ref())?;
    // Before CUDA: MPI's settings are in the environment.
    let connected = launcher::connected()?;
    let chosen = match args.collective {
        Some(Collective::Nccl) => device::choose(&launcher::device(place.as_ref(), "cuda")?)?,
        _ => device::choose("cpu")?,
    };
    let mut args = args.clone();
    if let Some((place, _)) = &connected {
        args.ranks = vec![place.world_size];
    }
    let work = Work::open(&args, chosen)?;
    let engine = match connected {
        #[cfg_attr(not(feature = "nccl"), expect(unused_mut, reason = "only NCCL changes it"))]
        Some((place, mut processes)) => {
            #[cfg(feature = "nccl")]
            if args.collective == Some(Collective::Nccl) {
                collective::connect(&mut *processes, args.collective, &work.chosen.device)?;
            }
            work.processes(&place, processes)?
        }
        None => Some(work.threads()?),
    };
    // Only rank 0 prints.
    let Some(engine) = engine else {
        return Ok(ExitCode::SUCCESS);
    };
    let bytes = work.gradient_bytes()?;
    let found = Found {
        bench: "scale",
        processor: machine::processor(),
        cores: rayon::current_num_threads(),
        model: args.model,
        points: args.points,
        gradient_bytes: bytes,
        assumed: format!(
            "weak efficiency of this step without overlap, and with full overlap, of the faster of ring and tree; \
             links at their peak rates, with a latency of {} µs",
            args.latency
        ),
        predicted: predict::all(bytes as f64, &engine, &|rate| args.cost(rate)),
        engine,
    };
    show(&found, args.json)?;
    Ok(ExitCode::SUCCESS)
}

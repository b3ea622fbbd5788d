//! `canopy bench scale`: steps and all-reduces of 1 to N ranks, and the cost of messages.

mod measure;

use std::process::ExitCode;

use anyhow::Result;
use clap::builder::RangedU64ValueParser;
use serde::Serialize;

use crate::{
    cli::{
        collective::{self, Collective},
        launcher,
        options::at_least,
        table::show,
    },
    device,
    model::Kind,
    train::{choice, machine},
};
use measure::{Engine, Work};

/// Options of `canopy bench scale`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Each rank has one thread, so with more ranks than cores the ranks share cores, and the efficiency falls for that reason.
Ranks are threads, or the processes of mpirun or srun. With --collective nccl these train on GPUs, otherwise on the CPU:
  canopy bench scale --ranks 1,2
  mpirun -n 8 canopy bench scale
  mpirun -n 4 canopy bench scale --collective nccl --batch 256")]
pub struct Args {
    /// Numbers of ranks to measure; the baseline is always one rank
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_name = "N,…",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    ranks: Vec<usize>,
    /// Network
    #[arg(long, default_value = "vanilla", value_parser = choice::<Kind>(&["full", "vanilla"]))]
    model: Kind,
    /// Points per cloud
    #[arg(long, default_value_t = 256, value_name = "N")]
    points: usize,
    /// Clouds per rank; in strong scaling, the batch size is this times the largest number of ranks
    #[arg(long, default_value_t = 8, value_parser = at_least(2), value_name = "N")]
    batch: usize,
    /// Divide the width of every hidden layer
    #[arg(long, default_value_t = 1, value_name = "N")]
    width: usize,
    /// Steps in each of two epochs; the fastest step counts
    #[arg(long, default_value_t = 6, value_parser = at_least(1), value_name = "N")]
    steps: usize,
    /// Repetitions of each all-reduce, of which the median counts
    #[arg(long, default_value_t = 50, value_parser = at_least(1), value_name = "N")]
    repeats: usize,
    /// What carries the messages between processes [default: mpi]
    #[arg(long, value_name = "ENGINE")]
    collective: Option<Collective>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
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
    #[serde(flatten)]
    engine: Engine,
}

/// Measures, and prints the results. One of several processes of a launcher measures these processes.
pub fn run(args: &Args) -> Result<ExitCode> {
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
    let found = Found {
        bench: "scale",
        processor: machine::processor(),
        cores: rayon::current_num_threads(),
        model: args.model,
        points: args.points,
        engine,
    };
    show(&found, args.json)?;
    Ok(ExitCode::SUCCESS)
}

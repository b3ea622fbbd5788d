//! `canopy bench scale`: steps and all-reduces of 1 to N ranks over each engine, the cost of messages, and what follows for
//! other links and more ranks.

mod engine;
mod predict;
mod show;
mod steps;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, anyhow, ensure};
use canopy_data::atomic;
use serde::Serialize;

use crate::{
    cli::{
        collective::{self, Collective},
        launch, launcher,
    },
    device,
    model::Kind,
    parallel::Cost,
    train::{choice, machine},
};
use engine::Engine;
use predict::Predicted;
use steps::Work;

/// Options of `canopy bench scale`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Each rank has one thread, so with more ranks than cores the ranks share cores, and the efficiency falls for that reason.
Built with MPI, it also measures ranks that are processes: it calls mpirun for each number of ranks. On several nodes, start
it yourself. With --collective nccl the ranks train on GPUs, otherwise on the CPU:
  canopy bench scale --ranks 1,2 --plot scale.svg
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
    /// Write the plot to this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The cost of a message over --link.
    fn emulated(&self) -> Option<Cost> {
        self.link.map(|link| Cost {
            alpha: self.latency * 1e-6,
            beta: 1e-9 / link,
        })
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
    engines: Vec<Engine>,
    /// Why there are no ranks that are processes.
    without_mpi: Option<String>,
    predicted: Vec<Predicted>,
}

/// Measures, predicts, and prints the results. One of several processes of a launcher measures these processes only.
///
/// # Errors
/// Returns an error if an option is out of range, training fails or the plot cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        !args.ranks.is_empty() && args.ranks.iter().all(|p| (1..=64).contains(p)),
        "--ranks: expected at least one number, each from 1 to 64"
    );
    ensure!(
        args.latency >= 0.0 && args.latency.is_finite(),
        "--latency is {}: it must be at least 0",
        args.latency
    );
    if let Some(link) = args.link {
        ensure!(
            link.is_finite() && link > 0.0,
            "--link is {link}: it must be above 0"
        );
    }
    ensure!(
        args.batch >= 2 && args.steps >= 1 && args.repeats >= 1,
        "--batch must be at least 2, --steps and --repeats at least 1"
    );
    let place = launcher::place()?;
    collective::check(args.collective, place.as_ref(), collective::Built::THIS)?;
    // Before CUDA: MPI's settings are in the environment.
    let connected = launcher::connected()?;
    let chosen = match args.collective {
        Some(Collective::Nccl) => device::choose(&launcher::device(place.as_ref(), "cuda")?)?,
        _ => device::choose("cpu")?,
    };
    let mut args = args.clone();
    if let Some((place, _)) = &connected {
        args.ranks.push(place.world_size);
    }
    let (args, work) = (&args, Work::open(&args, chosen)?);
    let (engines, without_mpi) = match connected {
        #[cfg_attr(not(feature = "nccl"), expect(unused_mut, reason = "only NCCL changes it"))]
        Some((place, mut processes)) => {
            #[cfg(feature = "nccl")]
            if args.collective == Some(Collective::Nccl) {
                collective::connect(&mut *processes, args.collective, &work.chosen.device)?;
            }
            match engine::processes(args, &work, &place, processes)? {
                Some(engine) => (vec![engine], None),
                // Only rank 0 prints.
                None => return Ok(ExitCode::SUCCESS),
            }
        }
        None => {
            let mut engines = vec![engine::threads(args, &work)?];
            let processes = match args.link {
                Some(_) => Err(anyhow!("--link is emulated between threads")),
                None => engine::by_mpirun(args),
            };
            let reason = match processes {
                Ok(processes) => {
                    engines.extend(processes);
                    None
                }
                Err(reason) => Some(format!("{reason:#}")),
            };
            (engines, reason)
        }
    };
    // It is a failure only if a job of processes could start, and failed.
    let failed = without_mpi.is_some() && args.link.is_none() && launch::mpirun(2).is_ok();
    report(args, &work, engines, without_mpi)?;
    Ok(ExitCode::from(u8::from(failed)))
}

fn report(args: &Args, work: &Work, engines: Vec<Engine>, without_mpi: Option<String>) -> Result<()> {
    let bytes = work.gradient_bytes()?;
    let here: Vec<(String, Cost)> = engines.iter().map(|e| (e.name.clone(), e.cost)).collect();
    let found = Found {
        bench: "scale",
        processor: machine::processor(),
        cores: rayon::current_num_threads(),
        model: args.model,
        points: args.points,
        gradient_bytes: bytes,
        predicted: predict::all(engines[0].one_ms / 1e3, bytes as f64, &here, args.latency),
        engines,
        without_mpi,
    };
    if let Some(path) = &args.plot {
        atomic::write(path, show::plot(&found).svg().as_bytes())?;
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&found)?);
        return Ok(());
    }
    show::print(&found, args)
}

//! `canopy bench split`: trains a model that is split over ranks, and measures what each rank keeps, sends and waits for.

mod found;
mod plot;
mod print;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, bail, ensure};
use canopy_data::atomic;

use crate::{
    cli::{launcher, mesh},
    parallel::Processes,
    split::{Mesh, Setting, fullest_rank, meshes_that_fit, run_split, run_split_over},
    train::machine::mib,
};

/// Options of `canopy bench split`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The network is a vanilla PointNet with batch statistics, trained on made-up clouds with AdamW.
Each rank is a thread with one core, or a process if mpirun starts it (built with MPI); with more ranks than cores, the
times say little.

Examples:
  canopy bench split --width-times 8 --memory-limit 500
                          refused: one rank needs more
  canopy bench split --width-times 8 --memory-limit 500 --tensor 2
                          two ranks train it
  canopy bench split --over-points 128,128,128,128,128,128 --pipeline 2 --schedule gpipe --plot gpipe.svg
                          the timeline of a pipeline with nearly equal stages
  mpirun -n 2 canopy bench split --width-times 8 --tensor 2
                          two processes, and what each has allocated")]
pub struct Args {
    #[command(flatten)]
    split: mesh::Args,
    /// Clouds per micro-batch
    #[arg(long, default_value_t = 4, value_name = "N")]
    clouds: usize,
    /// Points per cloud
    #[arg(long, default_value_t = 128, value_name = "N")]
    points: usize,
    /// Number of classes
    #[arg(long, default_value_t = 7, value_name = "N")]
    classes: usize,
    /// Training steps; the fastest counts
    #[arg(long, default_value_t = 5, value_name = "N")]
    steps: usize,
    /// Learning rate
    #[arg(long, default_value_t = 1e-3, value_name = "RATE")]
    learning_rate: f64,
    /// Refuse to run if a rank would keep more than this
    #[arg(long, value_name = "MIB")]
    memory_limit: Option<f64>,
    /// Write the timeline of the fastest step, measured and predicted, to this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Trains, measures and prints.
///
/// # Errors
/// Returns an error if the numbers do not fit together, if a rank needs more memory than the limit, or if training fails.
pub fn run(args: &Args) -> Result<ExitCode> {
    let Some((_, processes)) = launcher::connected()? else {
        return measure(args, None);
    };
    match measure(args, Some(&*processes)) {
        Ok(code) => {
            processes.finish(None);
            Ok(code)
        }
        Err(error) => processes.abort(&format!("{error:#}")),
    }
}

/// Trains over `processes` or over threads. Only rank 0 prints.
fn measure(args: &Args, processes: Option<&dyn Processes>) -> Result<ExitCode> {
    ensure!(args.steps >= 1, "--steps is 0: it must be at least 1");
    let setting = args.split.setting(args.clouds, args.points, args.classes)?;
    if let Some(limit) = args.memory_limit {
        ensure!(
            limit.is_finite() && limit > 0.0,
            "--memory-limit is {limit}: it must be above 0"
        );
        within(&setting, limit)?;
    }
    let (steps, rate) = (args.steps, args.learning_rate);
    let run = match processes {
        Some(processes) => run_split_over(&setting, processes, steps, rate)?,
        None => Some(run_split(&setting, steps, rate)?),
    };
    let Some(run) = run else {
        return Ok(ExitCode::SUCCESS);
    };
    let found = found::evaluate(setting, &run)?;
    if let (Some(path), Some(pipeline)) = (&args.plot, &found.pipeline) {
        let plot = plot::timelines(found.setting.chunks, found.setting.micro_batches, pipeline);
        atomic::write(path, plot.svg().as_bytes())?;
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print::print(&found)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns an error if a rank keeps more than `limit` MiB; it says which split would fit.
fn within(setting: &Setting, limit: f64) -> Result<()> {
    let (rank, bytes) = fullest_rank(setting)?;
    if mib(bytes.total()) <= limit {
        return Ok(());
    }
    let fits = meshes_that_fit(setting, (limit * f64::from(1 << 20)) as u64);
    let of_mesh = |(mesh, bytes): &(Mesh, u64)| {
        format!(
            "--tensor {} --pipeline {} ({:.1} MiB)",
            mesh.tensor,
            mesh.pipeline,
            mib(*bytes)
        )
    };
    let what = match fits.is_empty() {
        true => "no split over up to 64 ranks fits: use a smaller network, or fewer clouds or points".into(),
        false => {
            let all: Vec<String> = fits.iter().map(of_mesh).collect();
            format!("these fit: {}", all.join(", "))
        }
    };
    bail!(
        "rank {rank} keeps {:.1} MiB (parameters {:.1}, gradients {:.1}, optimizer {:.1}, activations {:.1}), and the limit is \
         {limit} MiB; {what}",
        mib(bytes.total()),
        mib(bytes.parameters),
        mib(bytes.gradients),
        mib(bytes.optimizer),
        mib(bytes.activations)
    )
}

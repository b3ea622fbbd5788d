//! The program's commands, one file each.

/// Prints a line to standard output, or returns the error from the enclosing function.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let written = writeln!(std::io::stdout(), $($text)*);
        anyhow::Context::context(written, "standard output cannot be written to")?;
    }};
}

mod bench;
mod collective;
mod data;
mod doctor;
mod eval;
mod find_lr;
mod launch;
mod launcher;
mod monitor;
mod options;
mod plan;
mod predict;
mod profile;
mod profiling;
mod stop;
mod sweep;
mod table;
mod train;
mod trained;

use std::{io, process::ExitCode};

use clap::{Parser, Subcommand};

pub use data::open::grown;

use crate::{kernels::Filter, train::Failure};

/// Predicts the species of trees, or their size, from laser scans.
#[derive(Debug, Parser)]
#[command(name = "canopy", version, max_term_width = 90, after_help = EXAMPLES)]
struct Cli {
    /// CPU threads; 0: one per core
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    threads: usize,

    /// Compute every product of the widest layers in f32, without the filter of 8-bit products; the results are
    /// bit-identical
    #[arg(long, global = true)]
    no_filter: bool,

    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  canopy train                              train on the built-in forest
  canopy train --data clouds/ --preset full train on a folder with one sub-folder per species
  canopy eval runs/quick                    score the model on the test set
  canopy predict runs/quick scans/*.laz     predict the species of scans

Exit codes: 0 success, 1 error, 2 wrong usage. Saved, to be continued with --resume:
75 after SIGUSR1 (the scheduler may requeue the job), 130 after Ctrl-C or SIGTERM.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a PointNet
    Train(Box<train::Args>),
    /// Train with one process per rank: calls mpirun
    Launch(launch::Args),
    /// Search for good settings: random, halving, ASHA, a population, Bayesian
    Sweep(sweep::Args),
    /// Score a trained model on a data set
    Eval(eval::Args),
    /// Find a learning rate: raise it step by step until training diverges
    FindLr(Box<find_lr::Args>),
    /// Measure the speed on this machine
    Bench(bench::Args),
    /// Estimate the memory of a training step, and the largest batch that fits
    Plan(plan::Args),
    /// Show a recorded profile, or a profiler's kernel table
    Profile(profile::Args),
    /// Show and log the utilisation of GPUs and CPU
    Monitor(monitor::Args),
    /// Examine this machine: GPUs, CUDA, CPU, the Slurm job
    Doctor(doctor::Args),
    /// Predict the species of clouds, or the number that the run was trained for
    Predict(predict::Args),
    /// Fetch, import, convert, split and view data
    #[command(subcommand)]
    Data(data::DataCommand),
}

const OUT_OF_MEMORY: &str = "The device has too little memory for this: use a smaller --batch. `canopy plan --search 512` finds one \
     that fits, on a GPU with `--device cuda`.";

/// Starts rayon's threads; 0: one per core. This thread is one of them, so that it begins an operator's work at once
/// instead of waking a thread and waiting for it. Not if it is the only one: a loader thread that decodes LAZ would wait for
/// it, and it for the loader.
fn start_threads(threads: usize) {
    let by_default = || {
        let wanted = std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
        wanted.filter(|&n: &usize| n > 0)
    };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match threads {
        0 => by_default().unwrap_or_else(|| launcher::cores(cores())),
        n => n,
    };
    let mut pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    if threads > 1 {
        pool = pool.use_current_thread();
    }
    // Fails only if the pool exists already, and nothing before this creates it.
    let _ = pool.build_global();
}

/// Runs the program.
pub fn main() -> ExitCode {
    canopy_data::formats::hide_decoder_panics();
    let cli = Cli::parse();
    start_threads(cli.threads);
    if cli.no_filter {
        Filter::Off.choose();
    }
    let result = match cli.command {
        Command::Train(args) => train::run(*args),
        Command::Launch(args) => launch::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::FindLr(args) => find_lr::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Data(command) => data::run(command),
    };
    result.unwrap_or_else(|e| {
        if e.is::<data::progress::Stopped>() {
            note!("{e}");
            return ExitCode::from(stop::STOPPED);
        }
        let closed = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
        if e.root_cause().downcast_ref().is_some_and(closed) {
            // The reader, such as `head`, has read enough.
            return ExitCode::SUCCESS;
        }
        let message = format!("{e:#}");
        note!("error: {message}");
        if Failure::of(&message) == Failure::OutOfMemory {
            note!("{OUT_OF_MEMORY}");
        }
        ExitCode::FAILURE
    })
}

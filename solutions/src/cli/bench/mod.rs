//! `canopy bench`: speed of the trainer on this machine, by part, and in comparison with PyTorch.

mod batch;
mod data;
mod filter;
mod measure;
mod peer;
mod precision;
mod sampling;
mod scale;
mod split;
mod waiting;
mod work;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use canopy_data::atomic;
use serde::Serialize;

use crate::kernels::{Filter, filter_counts};
use crate::model::Kind;
use crate::parallel::measure::median;
use crate::precision::Precision;
use crate::report::svg::LinePlot;
use crate::train::{choice, machine};
use candle_core::Device;
use measure::Times;
use peer::Peer;

/// Options of `canopy bench`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Speed of a training step: loader, forward pass, backward pass, optimizer
    Train(Options),
    /// Speed of inference: the forward pass with running statistics
    Infer(Options),
    /// Speed of reading files, sampling clouds and the loader, and how long training waits for it
    Data(data::Args),
    /// Accuracy against batch size, with and without learning rate scaling, warm-up, LARS and LAMB
    Batch(batch::Args),
    /// Accuracy and memory of each number format, with and without loss scaling
    Precision(precision::Args),
    /// Candidates for the maximum of a channel of the widest layer, by the format of the filter's products
    Filter(filter::Args),
    /// Scaling over ranks that are threads and processes, their all-reduces and messages, and predictions for other links
    Scale(scale::Args),
    /// A model split over ranks: memory, messages and idle time with tensor, sequence, data and pipeline parallelism
    Split(split::Args),
}

/// Options of `canopy bench train` and `canopy bench infer`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
With --python the same network also runs in PyTorch, in alternating rounds, with the same shapes and threads:
  canopy --threads 2 bench train --model full --python venv/bin/python --compiled")]
pub struct Options {
    /// Network
    #[arg(long, default_value = "full", value_parser = choice::<Kind>(&["full", "vanilla"]))]
    model: Kind,
    /// Points per cloud
    #[arg(long, default_value_t = 1024, value_name = "N")]
    points: usize,
    /// Clouds per batch
    #[arg(long, default_value_t = 32, value_name = "N")]
    batch: usize,
    /// Number of classes
    #[arg(long, default_value_t = 7, value_name = "N")]
    classes: usize,
    /// Timed steps per round, after one untimed step
    #[arg(long, default_value_t = 5, value_name = "N")]
    repeats: usize,
    /// Rounds; each runs canopy, then PyTorch
    #[arg(long, default_value_t = 2, value_name = "N")]
    rounds: usize,
    /// Loader threads
    #[arg(long, default_value_t = 2, value_name = "N")]
    workers: usize,
    /// Format of the matrix products in training. Unless it is fp32, each round also measures fp32, and PyTorch runs bf16
    /// under autocast
    #[arg(long, default_value = "fp32", value_parser = choice::<Precision>(&["fp32", "tf32", "bf16", "fp16"]))]
    precision: Precision,
    /// Use candle's operators instead of the fused ones
    #[arg(long)]
    plain: bool,
    /// Python interpreter with torch, for the comparison with PyTorch
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Also measure PyTorch with torch.compile
    #[arg(long, requires = "python")]
    compiled: bool,
    /// Time limit of PyTorch's warm-up, including compilation, in seconds
    #[arg(long, default_value_t = 300, value_name = "SECONDS", requires = "python")]
    compile_limit: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the benchmark and prints its results.
///
/// # Errors
/// Returns an error if an option is out of range, or if candle or the PyTorch script fails.
pub fn run(args: &Args) -> Result<ExitCode> {
    let (train, options) = match &args.what {
        What::Train(options) => (true, options),
        What::Infer(options) => (false, options),
        What::Data(args) => return data::run(args),
        What::Batch(args) => return batch::run(args),
        What::Precision(args) => return precision::run(args),
        What::Filter(args) => return filter::run(args),
        What::Scale(args) => return scale::run(args),
        What::Split(args) => return split::run(args),
    };
    for (name, value, least) in [
        ("--points", options.points, 1),
        ("--batch", options.batch, 1 + usize::from(train)),
        ("--classes", options.classes, 1),
        ("--repeats", options.repeats, 1),
        ("--rounds", options.rounds, 1),
        ("--compile-limit", options.compile_limit, 1),
    ] {
        ensure!(value >= least, "{name} must be at least {least}, it is {value}");
    }
    ensure!(
        train || options.precision == Precision::Fp32,
        "--precision is {}, but inference is always fp32",
        options.precision
    );
    let found = collect(train, options)?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print(&found);
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the plot of `rows` to `path`, if there is one, and prints the rows if `json`. Returns whether it printed them.
fn save<T: Serialize>(
    rows: &[T],
    path: Option<&Path>,
    plot: impl FnOnce(&[T]) -> LinePlot,
    json: bool,
) -> Result<bool> {
    if let Some(path) = path {
        atomic::write(path, plot(rows).svg().as_bytes())?;
    }
    if json {
        say!("{}", serde_json::to_string_pretty(rows)?);
    }
    Ok(json)
}

/// Results of one benchmark; times are medians in ms.
#[derive(Debug, Serialize)]
struct Found {
    bench: &'static str,
    model: Kind,
    points: usize,
    batch: usize,
    threads: usize,
    processor: String,
    plain: bool,
    precision: Precision,
    /// How a format other than fp32 was computed.
    low_precision: Option<String>,
    /// The step in fp32, measured in the same rounds, if the format is another one.
    fp32_total_ms: Option<f64>,
    loader_ms: f64,
    forward_ms: f64,
    backward_ms: f64,
    optimizer_ms: f64,
    total_ms: f64,
    all_totals_ms: Vec<f64>,
    clouds_per_second: f64,
    peak_memory_mib: Option<f64>,
    /// Arithmetic that the fused operators need, whichever operators ran.
    gflop: f64,
    gflop_per_second: f64,
    /// How the widest layers' maxima were found, and what the filter did.
    filter: Filter,
    candidates_each: f64,
    fallback_share: f64,
    /// Throughput of candle's matrix product 32,768 × 128 × 1,024 on all threads, measured in this run.
    matmul_gflop_per_second: f64,
    pytorch: Vec<Peer>,
}

fn collect(train: bool, options: &Options) -> Result<Found> {
    let mut bench = measure::Bench::new(train, options, options.precision)?;
    let (mut ours, mut fp32) = (Times::default(), Times::default());
    let is_low = options.precision != Precision::Fp32;
    let mut full = is_low
        .then(|| measure::Bench::new(train, options, Precision::Fp32))
        .transpose()?;
    let mut pytorch = Vec::new();
    let mut peak = None;
    for _ in 0..options.rounds {
        bench.round(&mut ours)?;
        peak = machine::peak_memory().map(machine::mib);
        if let Some(full) = &mut full {
            full.round(&mut fp32)?;
        }
        if let Some(python) = &options.python {
            for compiled in [false, true].into_iter().take(1 + usize::from(options.compiled)) {
                peer::round(python, train, compiled, options, &mut pytorch)?;
            }
        }
    }
    let gflop = work::gflop(options.model, options.points, options.classes, train) * options.batch as f64;
    let total = median(&ours.total());
    let filter = filter_counts();
    Ok(Found {
        bench: if train { "train" } else { "infer" },
        model: options.model,
        points: options.points,
        batch: options.batch,
        threads: rayon::current_num_threads(),
        processor: machine::processor(),
        plain: options.plain,
        precision: options.precision,
        low_precision: options.precision.description(&Device::Cpu, options.plain),
        fp32_total_ms: is_low.then(|| median(&fp32.total())),
        loader_ms: median(&ours.loader),
        forward_ms: median(&ours.forward),
        backward_ms: median(&ours.backward),
        optimizer_ms: median(&ours.optimizer),
        total_ms: total,
        all_totals_ms: ours.total(),
        clouds_per_second: options.batch as f64 / total * 1e3,
        peak_memory_mib: peak,
        gflop,
        gflop_per_second: gflop / total * 1e3,
        filter: Filter::current(),
        candidates_each: filter.candidates_each(),
        fallback_share: filter.fallback_share(),
        matmul_gflop_per_second: work::matmul_ceiling()?,
        pytorch,
    })
}

fn print(found: &Found) {
    println!(
        "bench {}: {} PointNet, {} clouds × {} points, {}{}; {}, {} threads",
        found.bench,
        found.model,
        found.batch,
        found.points,
        found.precision,
        if found.plain { ", plain operators" } else { "" },
        found.processor,
        found.threads
    );
    if let Some(description) = &found.low_precision {
        println!("precision: {description}");
    }
    println!("\npart                      ms   share");
    let parts = [
        ("loader (waiting)", found.loader_ms),
        ("forward", found.forward_ms),
        ("backward", found.backward_ms),
        ("optimizer", found.optimizer_ms),
    ];
    for (name, ms) in parts
        .into_iter()
        .filter(|&(_, ms)| found.bench == "train" || ms > 0.0)
    {
        println!("{name:<18}{ms:>10.2}  {:>5.1}%", ms / found.total_ms * 100.0);
    }
    println!(
        "{:<18}{:>10.2}  {:>6.1} clouds/s",
        "all", found.total_ms, found.clouds_per_second
    );
    if let Some(fp32) = found.fp32_total_ms {
        println!(
            "{:<18}{fp32:>10.2}  {:.2} × the time of {}",
            "all, in fp32",
            fp32 / found.total_ms,
            found.precision
        );
    }
    println!(
        "\n{:.1} GFLOP at {:.0} GFLOP/s, {:.0}% of the {:.0} GFLOP/s of a matrix product",
        found.gflop,
        found.gflop_per_second,
        found.gflop_per_second / found.matmul_gflop_per_second * 100.0,
        found.matmul_gflop_per_second
    );
    if found.filter == Filter::Off || found.plain {
        println!("no filter: every product of the widest layers in f32");
    } else {
        println!(
            "filter {}: {:.1} rows per channel computed in f32, in blocks of 8; {:.1}% of the maxima without the filter",
            found.filter,
            found.candidates_each,
            found.fallback_share * 100.0
        );
    }
    if let Some(mib) = found.peak_memory_mib {
        println!("peak memory {mib:.0} MiB");
    }
    for peer in &found.pytorch {
        let name = if peer.compiled { "torch.compile" } else { "eager" };
        let Some(warmup) = peer.warmup_s.filter(|_| !peer.total_ms.is_empty()) else {
            println!(
                "\nPyTorch {} {name}: not measured, because its warm-up exceeded the limit",
                peer.torch
            );
            continue;
        };
        let total = median(&peer.total_ms);
        print!(
            "\nPyTorch {} {name}: {total:.1} ms, {:.2} × canopy",
            peer.torch,
            total / found.total_ms
        );
        if let Some(ours) = found.peak_memory_mib {
            print!("; {:.0} MiB, {:.2} × canopy", peer.peak_mib, peer.peak_mib / ours);
        }
        if peer.compiled {
            print!("; warm-up of {warmup:.0} s not counted");
        }
    }
    println!();
}

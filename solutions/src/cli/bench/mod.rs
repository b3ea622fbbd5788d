//! `canopy bench`: speed of the trainer on this machine, by part, and in comparison with PyTorch.

mod measure;
mod peer;
mod scale;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{options::at_least, table::show};
use crate::device;
use crate::kernels::{Filter, filter_counts};
use crate::model::Kind;
use crate::precision::Precision;
use crate::train::{
    choice,
    machine::{self, mib},
    memory::{in_use, reset_peak},
};
use candle_core::Device;
pub use measure::synthetic;
use measure::{Bench, Times};

/// Options of `canopy bench`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Speed of a training step: forward pass, backward pass, optimizer
    Train(Options),
    /// Speed of inference: the forward pass with running statistics
    Infer(Options),
    /// Scaling over ranks that are threads or processes
    Scale(scale::Args),
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
    #[arg(long, default_value_t = 1024, value_parser = at_least(1), value_name = "N")]
    points: usize,
    /// Clouds per batch
    #[arg(long, default_value_t = 32, value_parser = at_least(1), value_name = "N")]
    batch: usize,
    /// Number of classes
    #[arg(long, default_value_t = 7, value_parser = at_least(1), value_name = "N")]
    classes: usize,
    /// Timed steps per round, after one untimed step
    #[arg(long, default_value_t = 5, value_parser = at_least(1), value_name = "N")]
    repeats: usize,
    /// Rounds; each runs canopy, then PyTorch
    #[arg(long, default_value_t = 2, value_parser = at_least(1), value_name = "N")]
    rounds: usize,
    /// Format of the matrix products. Unless it is fp32, each round also measures fp32 on a CPU, and PyTorch runs bf16 under
    /// autocast
    #[arg(long, default_value = "fp32", value_parser = choice::<Precision>(&["fp32", "tf32", "bf16", "fp16"]))]
    precision: Precision,
    /// Use candle's operators instead of the fused ones
    #[arg(long)]
    plain: bool,
    /// Device: cpu, cuda or cuda:N. On a GPU, steps are queued without waiting
    #[arg(long, default_value = "cpu", value_name = "NAME")]
    device: String,
    /// Python interpreter with torch, for the comparison with PyTorch
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Also measure PyTorch with torch.compile
    #[arg(long, requires = "python")]
    compiled: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the benchmark and prints its results.
pub fn run(args: &Args) -> Result<ExitCode> {
    let (train, options) = match &args.what {
        What::Train(options) => (true, options),
        What::Infer(options) => (false, options),
        What::Scale(args) => return scale::run(args),
    };
    ensure!(
        options.batch > usize::from(train),
        "--batch must be at least 2 in training, it is {}",
        options.batch
    );
    let device = device::choose(&options.device)?.device;
    ensure!(
        options.python.is_none() || device.is_cpu(),
        "--python is for the CPU; tests/gpu/run.sh measures PyTorch on a GPU"
    );
    show(&collect(train, options, &device)?, options.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Results of one benchmark; times are medians in ms.
fn collect(train: bool, options: &Options, device: &Device) -> Result<Value> {
    reset_peak(device);
    let mut bench = Bench::new(train, options, options.precision, device)?;
    // On a GPU, tf32 is a setting of the whole process.
    let is_low = options.precision != Precision::Fp32 && device.is_cpu();
    let full = is_low.then(|| Bench::new(train, options, Precision::Fp32, device));
    let mut full = full.transpose()?;
    let (mut ours, mut fp32, mut pytorch) = (Times::new(), Times::new(), Vec::new());
    let mut peak = None;
    for _ in 0..options.rounds {
        bench.round(&mut ours)?;
        peak = in_use(device).map(|memory| mib(memory.peak));
        if let Some(full) = &mut full {
            full.round(&mut fp32)?;
        }
        for compiled in [false, true].into_iter().take(1 + usize::from(options.compiled)) {
            if let Some(python) = &options.python {
                peer::round(python, train, compiled, options, &mut pytorch)?;
            }
        }
    }
    let of_part =
        |times: &Times, part: usize| median(&times.iter().map(|step| step[part]).collect::<Vec<_>>());
    let total = of_part(&ours, 3);
    let filter = filter_counts();
    let widest = json!({
        "unit": Filter::current(),
        // Rows that were computed in f32, in blocks of 8.
        "rows_per_channel": filter.candidates_each(),
        // Maxima that were computed without the filter.
        "fallback_share": filter.fallback_share(),
    });
    let pytorch = pytorch.into_iter().map(|peer| peer.beside(total));
    Ok(json!({
        "bench": if train { "train" } else { "infer" },
        "model": options.model,
        "points": options.points,
        "batch": options.batch,
        "device": options.device,
        "threads": rayon::current_num_threads(),
        "processor": machine::processor(),
        "plain": options.plain,
        "precision": options.precision,
        // How a format other than fp32 was computed.
        "low_precision": options.precision.description(device, options.plain),
        // The step in fp32, measured in the same rounds, if the format is another one.
        "fp32_total_ms": is_low.then(|| of_part(&fp32, 3)),
        "forward_ms": of_part(&ours, 0),
        "backward_ms": train.then(|| of_part(&ours, 1)),
        "optimizer_ms": train.then(|| of_part(&ours, 2)),
        "total_ms": total,
        "all_totals_ms": ours.iter().map(|step| step[3]).collect::<Vec<_>>(),
        "clouds_per_second": options.batch as f64 / total * 1e3,
        // The process's on the CPU; the tensors' in the steps on a GPU.
        "peak_memory_mib": peak,
        // Memory of tensors after a tenth of a round's steps, and after all.
        "memory_mib": bench.in_use.map(|bytes| bytes.map(mib)),
        // How the fused operators found the widest layers' maxima on the CPU.
        "filter": (device.is_cpu() && !options.plain).then_some(widest),
        "pytorch": pytorch.collect::<Vec<_>>(),
    }))
}

/// The median; 0 without values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}

//! `canopy plan`: the memory of a training step, the largest batch that fits, and what several ranks need.

mod choose;
mod ranks;
mod split;

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, anyhow, bail, ensure};
use candle_core::{DType, Device, Tensor};
use canopy_data::Philox;
use serde::Serialize;

use crate::{
    cli::mesh,
    device,
    model::{Kind, PointNet},
    precision::{BF16, FP16, FP32},
    train::{
        Config, Failure, Loss, choice, executable_batch,
        machine::{self, mib},
        memory::{self, Form, LayerSize, StepBytes, StepSize, largest_batch, step_bytes},
        short::Learner,
    },
};

/// Options of `canopy plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The estimate counts parameters, gradients, optimizer state and activations, not the program itself, the data or the loader.

Examples:
  canopy plan --model full --batch 32               one step, by part and layer
  canopy plan --budget 8                            the largest batch in 8 GiB
  canopy plan --plain --format bf16 --budget 80     on a GPU with 80 GiB
  canopy plan --batch 32 --measure                  compare with a real step on the CPU
  canopy plan --ranks 8 --batch 4                   each of 8 ranks, with and without ZeRO
  canopy plan --ranks 8 --parameters 7e9 --format bf16 --activations 10 --budget 80
                                                    another model on 8 GPUs of 80 GiB
  canopy plan --ranks 32 --nodes 4 --parameters 60e9 --format bf16 --activations 64 --layers 80 --budget 80
                                                    which parallelism on 4 nodes of 8 GPUs
  canopy plan --width-times 8 --tensor 2 --batch 16 --budget 0.5
                                                    a model split over 2 ranks, as canopy bench split trains it
  (ulimit -v 2000000; canopy plan --search 512)     halve the batch until a real step runs
  canopy plan --search 32768 --device cuda          the same on a GPU")]
pub struct Args {
    /// PointNet with T-Nets (full) or without (vanilla)
    #[arg(long, default_value = "vanilla", value_parser = choice::<Kind>(&["vanilla", "full"]))]
    model: Kind,
    /// Points per cloud
    #[arg(long, default_value_t = 1024, value_name = "N")]
    points: usize,
    /// Classes of the head
    #[arg(long, default_value_t = 7, value_name = "N")]
    classes: usize,
    /// Divide the width of every hidden layer by N
    #[arg(long, default_value_t = 1, value_name = "N")]
    width: usize,
    /// Clouds per batch
    #[arg(long, default_value_t = 32, value_name = "N")]
    batch: usize,
    /// Optimizer, as in canopy train
    #[arg(long, default_value = "adamw", value_name = "NAME")]
    optimizer: String,
    /// dtype of weights, gradients and activations; bf16 and fp16 with fp32 master weights
    #[arg(long, default_value = "fp32", value_parser = ["fp32", "bf16", "fp16"])]
    format: String,
    /// Plain candle operators, as on a GPU, instead of the fused ones
    #[arg(long)]
    plain: bool,
    /// Memory available to a step, GiB [default: what is free on this machine]
    #[arg(long, value_name = "GIB")]
    budget: Option<f64>,
    /// Device of real steps: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu", value_name = "NAME")]
    device: String,
    /// Run two real steps, and report their peak memory
    #[arg(long)]
    measure: bool,
    /// Run real steps, each in its own process, with N clouds, N/2, N/4, … until one fits
    #[arg(long, value_name = "N", conflicts_with = "measure")]
    search: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    ranks: ranks::Args,
    #[command(flatten, next_help_heading = "Cluster")]
    cluster: choose::Args,
    #[command(flatten, next_help_heading = "Split model")]
    split: mesh::Args,
}

#[derive(Debug, Serialize)]
struct Found {
    model: Kind,
    form: Form,
    format: String,
    points: usize,
    batch: usize,
    bytes: StepBytes,
    total: u64,
    layers: Vec<Row>,
    budget: u64,
    /// Clouds of the largest batch, and its bytes; `None` if not even two clouds fit.
    largest: Option<(u64, u64)>,
    /// Peak of the bytes allocated in two real steps, minus those allocated before.
    measured: Option<u64>,
    /// The batch that a real step ran with.
    searched: Option<usize>,
    /// With --ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<ranks::Plan>,
    /// With --nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<choose::Chosen>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    kept: u64,
    passing: u64,
}

/// Estimates, measures if requested, and prints.
///
/// # Errors
/// Returns an error if an option is out of range, or if a real step fails for another reason than memory.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        args.points >= 1,
        "--points is 0: a cloud needs at least one point"
    );
    ensure!(
        args.batch >= 2,
        "--batch is {}: a step needs at least 2 clouds",
        args.batch
    );
    if args.split.wanted() {
        return run_split(args);
    }
    let searched = args.search.map(|start| search(args, start)).transpose()?;
    let batch = searched.unwrap_or(args.batch);
    let measured = if args.measure {
        Some(real_steps(args)?)
    } else {
        None
    };
    let step = size(args)?;
    let bytes = step_bytes(&step, batch as u64);
    let budget = budget(args)?;
    let own = ranks::Work {
        parameters: step.parameters,
        each: step.each,
        activations: bytes.activations + bytes.passing,
        budget,
    };
    let work = args.ranks.work(own)?;
    let row = |l: &LayerSize| Row {
        name: l.name.clone(),
        kept: batch as u64 * l.rows * l.kept,
        passing: batch as u64 * l.rows * l.passing,
    };
    let found = Found {
        model: args.model,
        form: form(args),
        format: args.format.clone(),
        points: args.points,
        batch,
        total: bytes.total(),
        bytes,
        layers: step.layers.iter().map(row).collect(),
        budget,
        largest: largest_batch(&step, budget).map(|(n, bytes)| (n, bytes.total())),
        measured,
        searched,
        chosen: args
            .cluster
            .choose(&work, &args.ranks, batch as u64, step.layers.len() as u64)?,
        ranks: args.ranks.wanted().then(|| args.ranks.plan(&work)),
    };
    if args.json {
        say!("{}", serde_json::to_string_pretty(&found)?);
    } else if let Some(plan) = &found.ranks {
        // What suits a cluster takes more into account than the first stage that fits.
        let advice = found.chosen.as_ref().map(choose::Chosen::advice);
        ranks::print(plan, advice.as_deref())?;
    } else {
        print(&found)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Bytes that a step may use.
fn budget(args: &Args) -> Result<u64> {
    Ok(match args.budget {
        Some(gib) if gib > 0.0 && gib <= ranks::MOST_GIB => (gib * f64::from(1 << 30)) as u64,
        Some(gib) => bail!(
            "--budget is {gib}: expected a number above 0 and up to {:e}",
            ranks::MOST_GIB
        ),
        None => machine::free_memory().unwrap_or(0),
    })
}

/// The plan of a model that is split over ranks.
fn run_split(args: &Args) -> Result<ExitCode> {
    ensure!(
        !args.ranks.wanted() && !args.measure && args.search.is_none(),
        "--ranks, --measure and --search are for a model that is not split: the split gives the ranks, and \
         `canopy bench split` measures"
    );
    args.ranks.check()?;
    let size = (args.batch, args.points, args.classes);
    let plan = split::plan(&args.split, size, budget(args)?, args.ranks.network())?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&plan)?);
    } else {
        split::print(&plan)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn form(args: &Args) -> Form {
    // What the fused operators keep is counted for f32 on the CPU only.
    if args.plain || args.format != "fp32" {
        Form::Plain
    } else {
        Form::Fused
    }
}

fn config(args: &Args) -> Config {
    Config {
        model: args.model,
        width: args.width,
        optimizer: args.optimizer.clone(),
        ..Config::default()
    }
}

fn model(args: &Args, device: &Device) -> Result<PointNet> {
    let network = config(args).network(args.classes);
    PointNet::new(&network, device, DType::F32, 1)
}

fn size(args: &Args) -> Result<StepSize> {
    let model = model(args, &Device::Cpu)?;
    let format = match args.format.as_str() {
        "bf16" => BF16,
        "fp16" => FP16,
        _ => FP32,
    };
    // Apart from the step count, its state is fp32 tensors of the parameters' shapes.
    let state = config(args).optim()?.build(model.params())?.state()?;
    let kept: usize = state.iter().map(|(_, t)| t.elem_count()).sum();
    let moments = (kept / model.param_count()) as u32;
    Ok(StepSize::of(&model, args.points, form(args), format, moments))
}

/// The peak of two steps: the second reuses memory that the first freed, and both have the optimizer's state.
fn real_steps(args: &Args) -> Result<u64> {
    ensure!(
        args.format == "fp32",
        "--measure runs its steps in fp32, so --format {} cannot be measured",
        args.format
    );
    let device = device::choose(&args.device)?.device;
    let uncounted = "this build does not count its allocations";
    if device.is_cpu() {
        let before = memory::held().context(uncounted)?;
        let (done, peak) = memory::measured(|| two_steps(args, &device));
        done?;
        return Ok(peak.unwrap_or(0).saturating_sub(before));
    }
    let before = memory::in_use(&device).context(uncounted)?.now;
    two_steps(args, &device)?;
    let peak = memory::in_use(&device).context(uncounted)?.peak;
    Ok(peak.saturating_sub(before))
}

fn two_steps(args: &Args, device: &Device) -> Result<()> {
    let model = model(args, device)?;
    let optimizer = config(args).optim()?.build(model.params())?;
    let mut random = Philox::new(1, 0);
    let count = args.batch * args.points * 3;
    let points: Vec<f32> = (0..count).map(|_| random.uniform() * 2.0 - 1.0).collect();
    let points = Tensor::from_vec(points, (args.batch, args.points, 3), device)?;
    let labels: Vec<u32> = (0..args.batch).map(|i| (i % args.classes) as u32).collect();
    let labels = Tensor::from_vec(labels, args.batch, device)?;
    let loss = Loss {
        smoothing: 0.1,
        orthogonality: 1e-3,
        ..Loss::CROSS_ENTROPY
    };
    let mut learner = Learner {
        clip: 1.0,
        plain: args.plain,
        ..Learner::new(model, optimizer, loss)
    };
    for _ in 0..2 {
        learner.step((&points, &labels), 1e-3)?;
    }
    Ok(())
}

/// Each attempt is a process of its own, because a process that runs out of CPU memory is killed.
fn search(args: &Args, start: usize) -> Result<usize> {
    let program = std::env::current_exe().context("the path of the program is unknown")?;
    let (points, classes, width) = (
        args.points.to_string(),
        args.classes.to_string(),
        args.width.to_string(),
    );
    let found = executable_batch(start, 2, &mut |batch| {
        let mut attempt = Command::new(&program);
        attempt.args(["plan", "--measure", "--json", "--model", &args.model.to_string()]);
        attempt.args(["--points", &points, "--classes", &classes, "--width", &width]);
        attempt.args(["--optimizer", &args.optimizer, "--batch", &batch.to_string()]);
        attempt.args(["--device", &args.device]);
        if args.plain {
            attempt.arg("--plain");
        }
        let output = attempt
            .output()
            .map_err(|e| Failure::Other(format!("an attempt could not be started: {e}")))?;
        let result = if output.status.success() {
            Ok(())
        } else {
            Err(Failure::of(&String::from_utf8_lossy(&output.stderr)))
        };
        let said = result
            .as_ref()
            .map_or_else(ToString::to_string, |()| "fits".into());
        eprintln!("batch {batch}: {said}");
        result
    });
    found.map_err(|why| anyhow!("no batch from {start} down to 2 clouds runs on this machine: {why}"))
}

fn print(found: &Found) -> Result<()> {
    let form = match found.form {
        Form::Fused => "fused",
        Form::Plain => "plain candle",
    };
    say!(
        "a training step of the {} PointNet, {} clouds × {} points, {}, {form} operators",
        found.model,
        found.batch,
        found.points,
        found.format
    );
    say!("\nlayer                          saved MiB   temporary MiB");
    for row in &found.layers {
        say!(
            "{:<28}{:>12.2}{:>16.2}",
            row.name,
            mib(row.kept),
            mib(row.passing)
        );
    }
    say!("\npart                                 MiB");
    for (name, bytes) in [
        ("parameters", found.bytes.parameters),
        ("gradients", found.bytes.gradients),
        ("optimizer", found.bytes.optimizer),
        ("activations, saved", found.bytes.activations),
        ("backward pass, widest layer", found.bytes.passing),
        ("total", found.total),
    ] {
        say!("{name:<28}{:>12.1}", mib(bytes));
    }
    if let Some(bytes) = found.measured {
        let share = 100.0 * found.total as f64 / bytes as f64;
        say!(
            "{:<28}{:>12.1}   the estimate is {share:.0} % of it",
            "measured, two real steps",
            mib(bytes)
        );
    }
    if let Some(batch) = found.searched {
        say!("\na real step ran with {batch} clouds");
    }
    match found.largest {
        Some((batch, bytes)) => say!(
            "\nthe largest batch in {:.1} MiB is {batch} clouds, {:.1} MiB",
            mib(found.budget),
            mib(bytes)
        ),
        None => say!("\nnot even two clouds fit in {:.1} MiB", mib(found.budget)),
    }
    Ok(())
}

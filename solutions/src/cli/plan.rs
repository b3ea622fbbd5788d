//! `canopy plan`: what memory a training step needs, and the largest batch that fits.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, anyhow, bail, ensure};
use candle_core::{DType, Device, Tensor};
use canopy_data::Philox;
use serde::Serialize;

use crate::{
    model::{Kind, PointNet},
    precision::{BF16, FP16, FP32},
    train::{
        Config, Failure, Loss, executable_batch, machine,
        memory::{self, Form, LayerSize, StepBytes, StepSize, largest_batch, step_bytes},
        short::Learner,
    },
};

/// Options of `canopy plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is counted are parameters, gradients, optimizer state, activations; not the program itself, the data, the loader.

Examples:
  canopy plan --model full --batch 32               one step, by part and layer
  canopy plan --budget 8                            the largest batch in 8 GiB
  canopy plan --plain --format bf16 --budget 80     on a GPU with 80 GiB
  canopy plan --batch 32 --measure                  beside a real step on the CPU
  (ulimit -v 2000000; canopy plan --search 512)     halve until a real step runs")]
pub struct Args {
    /// PointNet with T-Nets (full) or without (vanilla)
    #[arg(long, default_value = "vanilla", value_parser = ["vanilla", "full"])]
    model: String,
    /// Points of a cloud
    #[arg(long, default_value_t = 1024, value_name = "N")]
    points: usize,
    /// Classes of the head
    #[arg(long, default_value_t = 7, value_name = "N")]
    classes: usize,
    /// Divide the width of every hidden layer
    #[arg(long, default_value_t = 1, value_name = "N")]
    width: usize,
    /// Clouds of a batch
    #[arg(long, default_value_t = 32, value_name = "N")]
    batch: usize,
    /// Optimizer, as `canopy train` takes it
    #[arg(long, default_value = "adamw", value_name = "NAME")]
    optimizer: String,
    /// Number type of weights, gradients and activations; below fp32 with fp32 copies of the weights
    #[arg(long, default_value = "fp32", value_parser = ["fp32", "bf16", "fp16"])]
    format: String,
    /// candle's operators, as on a GPU, instead of the fused ones
    #[arg(long)]
    plain: bool,
    /// Memory that a step may take, GiB; otherwise what is free here
    #[arg(long, value_name = "GIB")]
    budget: Option<f64>,
    /// Take two real steps on the CPU, and say what memory they took
    #[arg(long)]
    measure: bool,
    /// Take real steps, each in a process of its own, with N clouds, N/2, N/4, … until one fits
    #[arg(long, value_name = "N", conflicts_with = "measure")]
    search: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Found {
    model: String,
    form: Form,
    format: String,
    points: usize,
    batch: usize,
    bytes: StepBytes,
    total: u64,
    layers: Vec<Row>,
    budget: u64,
    /// Clouds of the largest batch, and its bytes; none where not even two fit.
    largest: Option<(u64, u64)>,
    /// Most bytes that two real steps held, above what was held before.
    measured: Option<u64>,
    /// The batch that a real step ran with.
    searched: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    kept: u64,
    passing: u64,
}

/// Counts, measures where asked to, and prints.
///
/// # Errors
/// Options out of range; a real step that fails for another reason than memory.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.points >= 1, "--points is 0");
    ensure!(
        args.batch >= 2,
        "--batch is {}: a step needs at least 2 clouds",
        args.batch
    );
    let searched = args.search.map(|start| search(args, start)).transpose()?;
    let batch = searched.unwrap_or(args.batch);
    let measured = if args.measure {
        Some(real_steps(args)?)
    } else {
        None
    };
    let step = size(args)?;
    let bytes = step_bytes(&step, batch as u64);
    let budget = match args.budget {
        Some(gib) if gib.is_finite() && gib > 0.0 => (gib * f64::from(1 << 30)) as u64,
        Some(gib) => bail!("--budget is {gib}: it must be above 0"),
        None => machine::free_memory().unwrap_or(0),
    };
    let row = |l: &LayerSize| Row {
        name: l.name.clone(),
        kept: batch as u64 * l.rows * l.kept,
        passing: batch as u64 * l.rows * l.passing,
    };
    let found = Found {
        model: args.model.clone(),
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
    };
    if args.json {
        say!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print(&found);
    }
    Ok(ExitCode::SUCCESS)
}

fn form(args: &Args) -> Form {
    // The fused operators know f32 alone.
    if args.plain || args.format != "fp32" {
        Form::Plain
    } else {
        Form::Fused
    }
}

fn config(args: &Args) -> Config {
    Config {
        model: if args.model == "full" {
            Kind::Full
        } else {
            Kind::Vanilla
        },
        width: args.width,
        optimizer: args.optimizer.clone(),
        ..Config::default()
    }
}

fn model(args: &Args) -> Result<PointNet> {
    let network = config(args).network(args.classes);
    PointNet::new(&network, &Device::Cpu, DType::F32, 1)
}

fn size(args: &Args) -> Result<StepSize> {
    let model = model(args)?;
    let format = match args.format.as_str() {
        "bf16" => BF16,
        "fp16" => FP16,
        _ => FP32,
    };
    // All it keeps but the step's number is fp32 and as long as the parameters.
    let state = config(args).optim()?.build(model.params())?.state()?;
    let kept: usize = state.iter().map(|(_, t)| t.elem_count()).sum();
    let moments = (kept / model.param_count()) as u32;
    Ok(StepSize::of(&model, args.points, form(args), format, moments))
}

/// Two steps: the optimizer's state is there in both, and what the first gives back serves the second.
fn real_steps(args: &Args) -> Result<u64> {
    ensure!(
        args.format == "fp32",
        "--measure takes its steps on the CPU in fp32; --format {} is not run here",
        args.format
    );
    let before = memory::held().context("this build does not count its memory")?;
    let (done, peak) = memory::measured(|| two_steps(args));
    done?;
    Ok(peak.unwrap_or(0).saturating_sub(before))
}

fn two_steps(args: &Args) -> Result<()> {
    let model = model(args)?;
    let optimizer = config(args).optim()?.build(model.params())?;
    let mut random = Philox::new(1, 0);
    let count = args.batch * args.points * 3;
    let points: Vec<f32> = (0..count).map(|_| random.uniform() * 2.0 - 1.0).collect();
    let points = Tensor::from_vec(points, (args.batch, args.points, 3), &Device::Cpu)?;
    let labels: Vec<u32> = (0..args.batch).map(|i| (i % args.classes) as u32).collect();
    let labels = Tensor::from_vec(labels, args.batch, &Device::Cpu)?;
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

/// Each attempt in a process of its own: where memory ends on the CPU, the process ends.
fn search(args: &Args, start: usize) -> Result<usize> {
    let program = std::env::current_exe().context("the program cannot name itself")?;
    let (points, classes, width) = (
        args.points.to_string(),
        args.classes.to_string(),
        args.width.to_string(),
    );
    let found = executable_batch(start, 2, &mut |batch| {
        let mut attempt = Command::new(&program);
        attempt.args(["plan", "--measure", "--json", "--model", &args.model]);
        attempt.args(["--points", &points, "--classes", &classes, "--width", &width]);
        attempt.args(["--optimizer", &args.optimizer, "--batch", &batch.to_string()]);
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
    found.map_err(|why| anyhow!("no batch from {start} down to 2 clouds runs here: {why}"))
}

fn print(found: &Found) {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let form = match found.form {
        Form::Fused => "fused",
        Form::Plain => "candle's",
    };
    say!(
        "a training step of the {} PointNet, {} clouds × {} points, {}, {form} operators",
        found.model,
        found.batch,
        found.points,
        found.format
    );
    say!("\n{:<28}{:>12}{:>16}", "layer", "kept MiB", "passing MiB");
    for row in &found.layers {
        say!(
            "{:<28}{:>12.2}{:>16.2}",
            row.name,
            mib(row.kept),
            mib(row.passing)
        );
    }
    say!("\n{:<28}{:>12}", "part", "MiB");
    for (name, bytes) in [
        ("parameters", found.bytes.parameters),
        ("gradients", found.bytes.gradients),
        ("optimizer", found.bytes.optimizer),
        ("activations, kept", found.bytes.activations),
        ("backward, the widest layer", found.bytes.passing),
        ("all", found.total),
    ] {
        say!("{name:<28}{:>12.1}", mib(bytes));
    }
    if let Some(bytes) = found.measured {
        let share = 100.0 * found.total as f64 / bytes as f64;
        say!(
            "{:<28}{:>12.1}   counted: {share:.0} % of it",
            "measured, two real steps",
            mib(bytes)
        );
    }
    if let Some(batch) = found.searched {
        say!("\na real step ran with {batch} clouds");
    }
    match found.largest {
        Some((batch, bytes)) => say!(
            "\nin {:.1} MiB the largest batch is {batch} clouds, {:.1} MiB",
            mib(found.budget),
            mib(bytes)
        ),
        None => say!("\nin {:.1} MiB not even two clouds fit", mib(found.budget)),
    }
}

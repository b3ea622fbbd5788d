//! `canopy plan`: the memory of a training step, the largest batch that fits, and what several ranks need.

mod measure;
mod ranks;

use std::process::ExitCode;

use anyhow::{Error, Result, bail, ensure};
use candle_core::{DType, Device};
use serde::Serialize;

use crate::{
    cli::{
        options::{at_least, number},
        table::Table,
    },
    device::{self, choose_device},
    model::{Kind, PointNet},
    precision::Precision,
    train::{
        Config, choice,
        machine::{self, mib},
        memory::{Form, LayerSize, StepBytes, StepSize, largest_batch, step_bytes},
    },
};

/// Options of `canopy plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The estimate counts parameters, gradients, optimizer state and activations, not the program itself, the data or the loader.

Examples:
  canopy plan --model full --batch 32               one step, by part and layer
  canopy plan --budget 8                            the largest batch in 8 GiB
  canopy plan --device cuda --format bf16 --budget 80
                                                    on a GPU with 80 GiB; the count itself needs no GPU
  canopy plan --batch 32 --measure                  compare with a real step on the CPU
  canopy plan --ranks 8 --batch 4                   each of 8 ranks, with and without ZeRO
  canopy plan --ranks 8 --parameters 7e9 --format bf16 --activations 10 --budget 80
                                                    another model on 8 GPUs of 80 GiB
  (ulimit -v 2000000; canopy plan --search 512)     halve the batch until a real step runs
  canopy plan --search 32768 --device cuda          the same on a GPU")]
pub struct Args {
    /// PointNet with T-Nets (full) or without (vanilla)
    #[arg(long, default_value = "vanilla", value_parser = choice::<Kind>(&["vanilla", "full"]))]
    model: Kind,
    /// Points per cloud
    #[arg(long, default_value_t = 1024, value_parser = at_least(1), value_name = "N")]
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
    /// dtype of weights, gradients and activations; bf16 and fp16 with fp32 master weights. In bf16 and fp16 counts
    /// what a GPU stores, because a CPU emulates them in fp32
    #[arg(long, default_value = "fp32", value_parser = choice::<Precision>(&["fp32", "bf16", "fp16"]))]
    format: Precision,
    /// Plain candle operators instead of the fused ones
    #[arg(long)]
    plain: bool,
    /// Memory available to a step, GiB [default: what is free on this machine, not for a GPU]
    #[arg(long, value_name = "GIB", value_parser = number(1e-3, 1e9))]
    budget: Option<f64>,
    /// Device of the step: cpu, cuda or cuda:N. Counting alone needs no GPU
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
}

/// Estimates, measures if requested, and prints.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        args.batch >= if args.ranks.is_other_model() { 1 } else { 2 },
        "--batch is {}: a step needs at least 2 clouds, and of another model (--parameters) at least 1 sample a rank",
        args.batch
    );
    if let Some(batch) = measure::attempted() {
        measure::two_steps(args, batch, &device::choose(&args.device)?.device)?;
        return Ok(ExitCode::SUCCESS);
    }
    let form = form(args)?;
    let searched = args.search.map(measure::search).transpose()?;
    let batch = searched.unwrap_or(args.batch) as u64;
    let measured = args.measure.then(|| measure::real_steps(args)).transpose()?;
    let step = size(args, form)?;
    let budget = match args.budget {
        Some(count) => Some(ranks::gib(count)),
        None => (form != Form::Cuda).then(|| machine::free_memory().unwrap_or(0)),
    };
    let bytes = step_bytes(&step, batch);
    let ranks = match (args.ranks.wanted(), budget) {
        (false, _) => None,
        (true, Some(budget)) => Some(args.ranks.plan(&step, bytes.activations + bytes.passing, budget)),
        (true, None) => bail!(
            "--budget is missing: how much memory has each GPU, in GiB? `canopy doctor` and nvidia-smi print it"
        ),
    };
    let of_batch = |l: &LayerSize| LayerSize {
        rows: batch * l.rows,
        kept: batch * l.rows * l.kept,
        passing: batch * l.rows * l.passing,
        name: l.name.clone(),
    };
    let found = Found {
        model: args.model,
        form,
        format: args.format,
        points: args.points,
        batch,
        total: bytes.total(),
        bytes,
        layers: step.layers.iter().map(of_batch).collect(),
        budget,
        largest: budget
            .and_then(|b| largest_batch(&step, b))
            .map(|(n, bytes)| (n, bytes.total())),
        measured,
        searched,
        ranks,
    };
    match &found.ranks {
        _ if args.json => say!("{}", serde_json::to_string_pretty(&found)?),
        Some(plan) => ranks::print(plan)?,
        None => print(&found)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Serialize)]
struct Found {
    model: Kind,
    form: Form,
    format: Precision,
    points: usize,
    batch: u64,
    bytes: StepBytes,
    total: u64,
    /// Of the whole batch.
    layers: Vec<LayerSize>,
    /// `None` if nobody said how much memory the GPU has.
    budget: Option<u64>,
    /// Clouds of the largest batch, and its bytes; `None` if not even two clouds fit, or without a budget.
    largest: Option<(u64, u64)>,
    /// Peak of the bytes allocated in two real steps, minus those allocated before.
    measured: Option<u64>,
    /// The batch that a real step ran with.
    searched: Option<usize>,
    /// With --ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<ranks::Plan>,
}

fn form(args: &Args) -> Result<Form> {
    ensure!(
        args.device != "auto",
        "--device auto: plan needs to know which device to count for: choose cpu, cuda or cuda:N"
    );
    let device = choose_device(&args.device, &mut |_| Ok(())).map_err(Error::msg)?;
    Ok(if args.plain {
        Form::Plain
    } else if device.cuda.is_some() || args.format != Precision::Fp32 {
        Form::Cuda
    } else {
        Form::Fused
    })
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

fn size(args: &Args, form: Form) -> Result<StepSize> {
    let model = model(args, &Device::Cpu)?;
    // Apart from the step count, its state is fp32 tensors of the parameters' shapes.
    let state = config(args).optim()?.build(model.params())?.state()?;
    let kept: usize = state.iter().map(|(_, t)| t.elem_count()).sum();
    let moments = (kept / model.param_count()) as u32;
    let format = args.format.format();
    Ok(StepSize::of(&model, args.points, form, format, moments))
}

fn print(found: &Found) -> Result<()> {
    let form = match found.form {
        Form::Fused => "fused operators",
        Form::Cuda => {
            "CUDA kernels\ncounted from the kernels' tensors; --measure, on a machine with a GPU, compares it with a step"
        }
        Form::Plain => "plain candle operators",
    };
    let Found {
        model,
        batch,
        points,
        format,
        bytes,
        ..
    } = found;
    say!("a training step of the {model} PointNet, {batch} clouds × {points} points, {format}, {form}\n");
    let mut table = Table::new("layer", ["saved MiB", "temporary MiB"]);
    for layer in &found.layers {
        let cells = [layer.kept, layer.passing].map(|bytes| format!("{:.2}", mib(bytes)));
        table.row(&layer.name, cells);
    }
    table.print()?;
    say!("");
    let mut table = Table::new("part", ["MiB"]);
    for (name, bytes) in [
        ("parameters", bytes.parameters),
        ("gradients", bytes.gradients),
        ("optimizer", bytes.optimizer),
        ("activations, saved", bytes.activations),
        ("backward pass, widest layer", bytes.passing),
        ("total", found.total),
    ] {
        table.row(name, [format!("{:.1}", mib(bytes))]);
    }
    table.print()?;
    if let Some(bytes) = found.measured.map(mib) {
        let share = 100.0 * mib(found.total) / bytes;
        say!("\ntwo real steps took {bytes:.1} MiB: the total is {share:.0} % of it");
    }
    if let Some(batch) = found.searched {
        say!("\na real step ran with {batch} clouds");
    }
    match (found.budget.map(mib), found.largest) {
        (None, _) => say!("\n--budget GIB, the memory of the GPU, gives the largest batch"),
        (Some(budget), None) => say!("\nnot even two clouds fit in {budget:.1} MiB"),
        (Some(budget), Some((batch, bytes))) => say!(
            "\nthe largest batch in {budget:.1} MiB is {batch} clouds, {:.1} MiB",
            mib(bytes)
        ),
    }
    Ok(())
}

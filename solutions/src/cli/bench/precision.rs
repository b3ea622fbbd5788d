//! `canopy bench precision`: accuracy in each number format, with and without loss scaling, by short trainings on the
//! built-in forest; and the memory that each format needs.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, ensure};
use candle_core::{DType, Device};
use serde::Serialize;

use crate::{
    model::PointNet,
    precision::{
        BF16, FP8_E4M3, FP16, FP32, GradScaler, LossScaler, Precision, Product, TF32, bytes_per_parameter,
        eligibility,
    },
    report::svg::{LinePlot, Series},
    train::{
        Config, Loss,
        short::{Forest, Learner},
    },
};

/// Options of `canopy bench precision`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Epochs of each training
    #[arg(long, default_value_t = 8, value_name = "N")]
    epochs: usize,
    /// Points per cloud
    #[arg(long, default_value_t = 64, value_name = "N")]
    points: usize,
    /// Divide the width of every hidden layer
    #[arg(long, default_value_t = 4, value_name = "N")]
    width: usize,
    /// Clouds per batch
    #[arg(long, default_value_t = 32, value_name = "N")]
    batch: usize,
    /// Random seed
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Do not train: print the memory of parameters and activations, and whether each layer suits tensor cores
    #[arg(long)]
    bytes: bool,
    /// Write the loss curves to this SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "bytes")]
    plot: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Format and loss scale of each training.
const WAYS: [(Precision, &str); 6] = [
    (Precision::Fp32, "off"),
    (Precision::Tf32, "off"),
    (Precision::Bf16, "off"),
    (Precision::Fp16, "off"),
    (Precision::Fp16, "dynamic"),
    (Precision::Fp16, "deepspeed"),
];

#[derive(Debug, Serialize)]
struct Row {
    precision: Precision,
    loss_scale: &'static str,
    emulated: bool,
    losses: Vec<f64>,
    accuracy: f64,
    steps_left_out: u64,
}

/// Trains in each format, or computes the memory of each, and prints the results.
///
/// # Errors
/// Returns an error if an option is out of range, training fails or the plot cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.epochs >= 1, "--epochs must be at least 1, it is 0");
    let base = Config {
        points: args.points,
        width: args.width,
        batch: args.batch,
        seed: args.seed,
        ..Config::default()
    };
    base.validate()?;
    if args.bytes {
        return bytes(args, &base);
    }
    let forest = Forest::open(base)?;
    let mut rows = Vec::new();
    for way in WAYS {
        rows.push(trained(args, &forest, way)?);
        eprintln!("{}, loss scale {}: done", way.0, way.1);
    }
    if super::save(&rows, args.plot.as_deref(), plot, args.json)? {
        return Ok(ExitCode::SUCCESS);
    }
    for precision in Precision::ALL {
        if let Some(description) = precision.description(&forest.device, false) {
            say!("{description}");
        }
    }
    say!("");
    say!("format    loss scale   last loss        accuracy    skipped");
    for r in &rows {
        let last = r.losses.last().copied().unwrap_or(f64::NAN);
        let (name, accuracy) = (r.precision.to_string(), format!("{:.1} %", 100.0 * r.accuracy));
        say!(
            "{name:<8}{:>12}{last:>12.3}{accuracy:>16}{:>11}",
            r.loss_scale,
            r.steps_left_out
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn trained(args: &Args, forest: &Forest, (precision, loss_scale): (Precision, &'static str)) -> Result<Row> {
    let (device, base) = (&forest.device, &forest.config);
    let model = forest.model()?;
    let optimizer = base.optim()?.build(model.params())?;
    let loss = Loss {
        smoothing: base.smoothing,
        ..Loss::CROSS_ENTROPY
    };
    let scaler = LossScaler::parse(loss_scale, precision)?.map(GradScaler::new);
    let mut learner = Learner {
        clip: base.clip,
        seed: base.seed,
        lowering: precision.lowering(device),
        scaler: scaler.map(|scaler| Box::new(scaler) as Box<_>),
        ..Learner::new(model, optimizer, loss)
    };
    let epoch = |epoch| learner.epoch(&mut forest.epoch(epoch, base.batch), &mut |_| base.learning_rate);
    let losses = (0..args.epochs as u64).map(epoch).collect::<Result<_>>()?;
    Ok(Row {
        precision,
        loss_scale,
        emulated: precision.is_emulated(device),
        losses,
        accuracy: forest.accuracy(&learner.model, &forest.split.test)?,
        steps_left_out: learner.skipped,
    })
}

fn plot(rows: &[Row]) -> LinePlot {
    let mut plot = LinePlot::new("Training loss", "epoch", "mean loss");
    for r in rows {
        let points = r.losses.iter().enumerate().map(|(i, &l)| (i as f64 + 1.0, l));
        let name = format!("{}, loss scale {}", r.precision, r.loss_scale);
        plot = plot.with(Series::new(name, points.filter(|p| p.1.is_finite()).collect()));
    }
    (plot.whole_x, plot.size) = (true, (760.0, 360.0));
    plot
}

/// Returns the name and the matrix product of each layer.
fn products(model: &PointNet, args: &Args) -> Vec<(String, Product)> {
    let layer = |(name, var): (String, candle_core::Var)| {
        let (&[n, k], Some(layer)) = (var.dims(), name.strip_suffix(".weight")) else {
            return None;
        };
        let points = if layer.contains("mlp") { args.points } else { 1 };
        let m = args.batch * points;
        Some((layer.to_owned(), Product { m, n, k }))
    };
    model.params().into_iter().filter_map(layer).collect()
}

#[derive(Debug, Serialize)]
struct Bytes {
    format: &'static str,
    a_parameter: u32,
    parameters_mb: f64,
    activations_mb: f64,
}

/// Prints the memory of the parameters with AdamW, and of the inputs and outputs of the products, which are kept for the
/// backward pass.
fn bytes(args: &Args, base: &Config) -> Result<ExitCode> {
    let model = PointNet::new(&base.network(7), &Device::Cpu, DType::F32, 1)?;
    let products = products(&model, args);
    let kept: usize = products.iter().map(|(_, p)| p.m * (p.n + p.k)).sum();
    let row = |format| {
        let b = bytes_per_parameter(format, 2);
        Bytes {
            format: format.name,
            a_parameter: b.total(),
            parameters_mb: f64::from(b.total()) * model.param_count() as f64 / 1e6,
            activations_mb: f64::from(b.weight) * kept as f64 / 1e6,
        }
    };
    let rows = [FP32, TF32, BF16, FP16, FP8_E4M3].map(row);
    if args.json {
        say!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(ExitCode::SUCCESS);
    }
    say!(
        "{} PointNet, {} parameters, batches of {} clouds of {} points, AdamW\n",
        base.model,
        model.param_count(),
        args.batch,
        args.points
    );
    say!("format       bytes/parameter  parameters, MB   activations, MB");
    for Bytes {
        format,
        a_parameter,
        parameters_mb,
        activations_mb,
    } in &rows
    {
        say!("{format:<10}{a_parameter:>18}{parameters_mb:>16.1}{activations_mb:>18.1}");
    }
    say!("\nActivations: inputs and outputs of the matrix products, if they are stored in the format.");
    say!("\ntensor cores, bf16");
    for (name, product) in &products {
        let reasons = eligibility(*product, BF16);
        let verdict = if reasons.is_empty() {
            "good".into()
        } else {
            reasons.join("; ")
        };
        say!("  {name}: {verdict}");
    }
    Ok(ExitCode::SUCCESS)
}

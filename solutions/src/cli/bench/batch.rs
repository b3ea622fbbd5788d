//! `canopy bench batch`: accuracy against batch size, with and without learning rate scaling, warm-up, LARS and LAMB, by
//! short trainings on the built-in forest.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::{
    report::svg::{LinePlot, Series},
    schedule::scaled_warmup,
    train::{
        Config, Loss,
        short::{Forest, Learner},
    },
};

/// Options of `canopy bench batch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Batch sizes; the base learning rates belong to the first
    #[arg(long, value_delimiter = ',', default_value = "16,64,256", value_name = "N,…")]
    batches: Vec<usize>,
    /// Epochs of each training
    #[arg(long, default_value_t = 12, value_name = "N")]
    epochs: usize,
    /// Points per cloud
    #[arg(long, default_value_t = 128, value_name = "N")]
    points: usize,
    /// Divide the width of every hidden layer
    #[arg(long, default_value_t = 4, value_name = "N")]
    width: usize,
    /// Random seed
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Write the plot to this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Name, optimizer, base learning rate, whether the rate is scaled with the batch size, epochs of warm-up.
const WAYS: [(&str, &str, f64, bool, u64); 5] = [
    ("same rate", "sgd", 0.02, false, 0),
    ("scaled", "sgd", 0.02, true, 0),
    ("scaled, warm-up", "sgd", 0.02, true, 2),
    ("LARS, warm-up", "lars", 1.5, true, 2),
    ("LAMB, warm-up", "lamb", 0.004, true, 2),
];

#[derive(Debug, Serialize)]
struct Row {
    way: &'static str,
    batch: usize,
    steps: u64,
    accuracy: f64,
}

/// Trains with each method and batch size, and prints the accuracies.
///
/// # Errors
/// Returns an error if an option is out of range, training fails or the plot cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        !args.batches.is_empty() && args.batches.iter().all(|&b| b >= 2),
        "--batches: expected at least one batch size, each at least 2"
    );
    ensure!(args.epochs >= 1, "--epochs must be at least 1, it is 0");
    let base = Config {
        points: args.points,
        width: args.width,
        seed: args.seed,
        dropout: 0.0,
        weight_decay: 1e-4,
        ..Config::default()
    };
    base.validate()?;
    let forest = Forest::open(base)?;
    let mut rows = Vec::new();
    for way in WAYS {
        for &batch in &args.batches {
            rows.push(trained(args, &forest, way, batch)?);
        }
        eprintln!("{}: done", way.0);
    }
    if super::save(&rows, args.plot.as_deref(), plot, args.json)? {
        return Ok(ExitCode::SUCCESS);
    }
    let head: String = args
        .batches
        .iter()
        .map(|b| format!("{:>11}", format!("batch {b}")))
        .collect();
    say!("{:<18}{head}", "accuracy");
    for (name, ..) in WAYS {
        let of = rows.iter().filter(|r| r.way == name);
        let cells: String = of.map(|r| format!("{:>9.1} %", 100.0 * r.accuracy)).collect();
        say!("  {name:<16}{cells}");
    }
    Ok(ExitCode::SUCCESS)
}

fn trained(
    args: &Args,
    forest: &Forest,
    (way, optimizer, rate, scaled, warmup): (&'static str, &str, f64, bool, u64),
    batch: usize,
) -> Result<Row> {
    let config = Config {
        optimizer: optimizer.into(),
        ..forest.config.clone()
    };
    let model = forest.model()?;
    let mut learner = Learner {
        seed: config.seed,
        ..Learner::new(
            model.clone(),
            config.optim()?.build(model.params())?,
            Loss::CROSS_ENTROPY,
        )
    };
    // The learning rates of LARS and LAMB scale with the square root of the batch size (You et al. 2020).
    let root = |size: usize| (1e4 * size as f64).sqrt().round() as usize;
    let sizes = match (scaled, config.optimizer.as_str()) {
        (false, _) => (1, 1),
        (true, "sgd") => (batch, args.batches[0]),
        (true, _) => (root(batch), root(args.batches[0])),
    };
    let warmup = warmup * (forest.split.train.len() / batch).max(1) as u64;
    for epoch in 0..args.epochs as u64 {
        let mut rate = |step| scaled_warmup(step, warmup, rate, sizes.0, sizes.1);
        learner.epoch(&mut forest.epoch(epoch, batch), &mut rate)?;
    }
    forest.measure_statistics(&learner.model)?;
    let accuracy = forest.accuracy(&learner.model, &forest.split.test)?;
    Ok(Row {
        way,
        batch,
        steps: learner.steps,
        accuracy,
    })
}

fn plot(rows: &[Row]) -> LinePlot {
    let mut plot = LinePlot::new("Accuracy against batch size", "batch size", "accuracy");
    for (name, ..) in WAYS {
        let of = rows.iter().filter(|r| r.way == name);
        let points = of.map(|r| (r.batch as f64, r.accuracy)).collect();
        plot = plot.with(Series::new(name, points));
    }
    (plot.log_x, plot.percent, plot.y_range) = (true, true, Some((0.0, 1.0)));
    plot.size = (760.0, 360.0);
    plot
}

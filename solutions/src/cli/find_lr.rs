//! `canopy find-lr`.

use std::{path::PathBuf, process::ExitCode, sync::atomic::Ordering};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{options::Options, stop, table::Table, train::selected};
use crate::{
    device,
    schedule::{RangeFound, growing_rates},
    train::{
        Config, Loss, Target, bar, data,
        short::{Forest, Learner},
    },
};

/// Options of `canopy find-lr`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The learning rate grows by a constant factor at each step (Smith 2015). The suggestion is a rate at which the loss falls
steadily; the test ends when training diverges. No weights are saved.

Examples:
  canopy find-lr
  canopy find-lr --optimizer sgd --momentum 0.9 --batch 64
  canopy find-lr --data clouds/ --json")]
pub struct Args {
    /// First learning rate
    #[arg(long, default_value_t = 1e-7, value_name = "LR")]
    first: f64,
    /// Last learning rate
    #[arg(long, default_value_t = 10.0, value_name = "LR")]
    last: f64,
    /// Number of steps from the first to the last learning rate
    #[arg(long, default_value_t = 100, value_name = "N")]
    steps: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// TOML file with settings, named as the options below
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

/// Runs the range test and prints its results.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut config = Config::preset("quick")?;
    if let Some(file) = &args.config {
        config = Options::from_file(file)?.over(&config)?;
    }
    config = args.options.over(&config)?;
    ensure!(
        config.target == Target::Species,
        "find-lr works with networks that predict the species, and target is {}",
        config.target
    );
    config.validate()?;
    let data = selected(&config, true)?;
    let split = data::split(&config, &data)?;
    let forest = Forest {
        device: device::choose(&config.device)?.device,
        config,
        data,
        split,
    };
    let found = test_rates(&forest, (args.first, args.last), args.steps)?;
    if args.json {
        say!(
            "{:#}",
            json!({"rates": found.rates, "losses": found.losses, "suggestion": found.suggestion, "diverged": found.broke})
        );
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new("learning rate", ["smoothed loss"]);
    let every = found.rates.len().div_ceil(20).max(1);
    for (rate, loss) in found.rates.iter().zip(&found.losses).step_by(every) {
        table.row(&format!("{rate:.2e}"), [format!("{loss:.4}")]);
    }
    table.print()?;
    say!(
        "{}",
        match found.broke {
            true => "training diverges at the next learning rate",
            false => "training did not diverge: the last learning rate may be too low",
        }
    );
    match found.suggestion {
        Some(rate) => say!("suggestion: --learning-rate {rate:.1e}"),
        None => say!("no suggestion: the loss did not decrease"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes a training step at each rate, on as many epochs of training batches as needed.
fn test_rates(forest: &Forest, rates: (f64, f64), steps: u64) -> Result<RangeFound> {
    let Config {
        batch, seed, clip, ..
    } = forest.config;
    let model = forest.model()?;
    let optimizer = forest.config.optim()?.build(model.params())?;
    let loss = Loss {
        smoothing: forest.config.smoothing,
        class_weights: None,
        orthogonality: forest.config.orthogonality,
    };
    let mut learner = Learner {
        clip,
        seed,
        plain: forest.config.plain,
        lowering: forest.config.precision.lowering(&forest.device),
        ..Learner::new(model, optimizer, loss)
    };
    let clouds = forest.split.train.len();
    ensure!(
        clouds >= batch,
        "there are {clouds} training clouds, fewer than the batch size {batch}: use a smaller --batch"
    );
    let stop = stop::flag()?;
    let bar = bar(steps + 1, "steps");
    let mut batches = (0..).flat_map(|epoch| forest.epoch(epoch, batch));
    let found = growing_rates(rates, steps, |rate| {
        ensure!(!stop.load(Ordering::Relaxed), "stopped");
        let (points, labels) = batches.next().context("no batch is left")??;
        let loss = learner.step((&points, &labels), rate)?;
        bar.inc(1);
        Ok(f64::from(loss.to_scalar::<f32>()?))
    });
    bar.finish_and_clear();
    found
}

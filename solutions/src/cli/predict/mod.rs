//! `canopy predict`.

mod inputs;
mod numbers;
mod print;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use candle_core::DType;
use indicatif::ProgressBar;
use rayon::prelude::*;

use self::{inputs::Input, numbers::NumberPrinter, print::Printer};
use super::{
    eval::best_of,
    profiling::{self, Profiling},
};
use crate::{
    device,
    kernels::Pass,
    loader::{Augment, Batch, prefetched, prepare},
    model::PointNet,
    precision::Precision,
    profile::{self, Kind},
    target::{Forecast, Head},
    train::{Config, bar, checkpoint, choice, evaluate},
};

/// Options of `canopy predict`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
CLOUDS are point files with one tree each, folders of such files, and everything that `canopy train \
--data` takes: folders of shards, folders with one sub-folder per species, tables of file and label, \
public data sets, and `builtin`. The predictions for a data set are compared with its labels.

A run with --target predicts its number: median and 90 % interval. Clouds are predicted as they are, \
also by a run with --visible below 1, which was trained on parts of trees.

A file that cannot be read is named on standard error, the others are still predicted, and the exit \
code is 1. CSV prints the accuracy on standard error.

Examples:
  canopy predict runs/quick tree.laz
  canopy predict runs/quick scans/ --format csv > species.csv
  canopy predict runs/quick plots/labels.csv
  canopy predict runs/quick a.las b.ply c.xyz --format json --votes 8")]
pub struct Args {
    /// Folder of a run, or a checkpoint file
    run: PathBuf,
    /// Point files, folders of point files, data sets
    #[arg(required = true)]
    clouds: Vec<PathBuf>,
    /// Output format
    #[arg(long, default_value = "table", value_parser = ["table", "csv", "json"])]
    format: String,
    /// Number of samples per cloud whose predictions are averaged [default: that of the run]
    #[arg(long, value_name = "N")]
    votes: Option<usize>,
    /// Device: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto", value_name = "NAME")]
    device: String,
    /// Format of the matrix products, as in `canopy train`
    #[arg(long, value_parser = choice::<Precision>(&["fp32", "tf32", "bf16", "fp16"]), default_value = "fp32")]
    precision: Precision,
    #[command(flatten)]
    profiling: Profiling,
}

/// What the model predicts of one cloud.
enum Prediction {
    /// Probabilities in the order of the model's species.
    Species(Vec<f32>),
    /// The distribution of a number.
    Number(Forecast),
}

/// A prediction, or why the cloud could not be read.
type Answer<'a> = (&'a Input, Result<Prediction>);

/// The samples of a cloud, `[points, channels]` each, and its category if the network expects one.
type Samples = (Vec<Vec<f32>>, Option<u32>);

/// Prints predictions.
enum Output<'a> {
    Species(Printer<'a>),
    Number(NumberPrinter<'a>),
}

/// Predicts the species of clouds, or the number that the run was trained for.
///
/// # Errors
/// Returns an error if the run or a data set cannot be used. Clouds that cannot be read are reported one by one and make
/// the exit code 1.
pub fn run(args: &Args) -> Result<ExitCode> {
    let best = best_of(&args.run)?;
    let saved = checkpoint::load(&best)?;
    let (config, species, seen) = (
        saved.progress.config,
        saved.progress.species,
        saved.progress.categories,
    );
    let head = saved.progress.head;
    let chosen = device::choose(&args.device)?;
    let pass = Pass::eval().lowered(args.precision.lowering(&chosen.device));
    if let Some(description) = args.precision.description(&chosen.device, false) {
        eprintln!("precision: {description}");
    }
    let outputs = head.as_ref().map_or(species.len(), Head::outputs);
    let model = PointNet::new(&config.network(outputs), &chosen.device, DType::F32, 0)?;
    model.from_map(&saved.model, &best.display().to_string())?;
    let inputs = inputs::all(&args.clouds)?;
    let unseen = |input: &&Input| matches!(input.category(&config), Ok(Some(id)) if !seen.contains(&id));
    if let Some(input) = inputs.iter().find(unseen) {
        eprintln!(
            "note: no training cloud has the categories ({:?}) of {}, and of perhaps more clouds: the embedding of these is \
             untrained, so expect worse predictions",
            config.categories, input.name
        );
    }
    let votes = args.votes.unwrap_or(config.votes).max(1);
    let bar = bar(inputs.len() as u64, "predicting");
    let mut printer = match head {
        None => Output::Species(Printer::new(&args.format, &species, &inputs)),
        Some(_) => Output::Number(NumberPrinter::new(&args.format, &config)),
    };
    let mut failed = 0;
    // Memory does not grow with the number of clouds. The next batch is read during the forward pass of this one.
    let batches: Vec<&[Input]> = inputs.chunks((config.batch / votes).max(1)).collect();
    let read = |i: usize| Ok(samples(batches[i], &config, votes));
    let recording = args.profiling.start(&chosen.device)?;
    let (mut at, mut outcome) = (0, Ok(()));
    let mut waits = Some(profile::span("next batch", Kind::Load));
    prefetched(batches.len(), 1, 2, &read, &mut |samples| {
        waits = None;
        outcome = samples
            .and_then(|samples| {
                predict(
                    (&model, head.as_ref(), &pass),
                    batches[at],
                    samples,
                    &config,
                    votes,
                )
            })
            .and_then(|answers| show(answers, &bar, &mut printer, &mut failed));
        at += 1;
        waits = Some(profile::span("next batch", Kind::Load));
        outcome.is_ok()
    });
    drop(waits);
    outcome?;
    bar.finish_and_clear();
    match printer {
        Output::Species(printer) => printer.end()?,
        Output::Number(printer) => printer.end()?,
    }
    let folder = best.parent().unwrap_or(Path::new("."));
    profiling::finish(recording, &folder.join("profile-predict"), "the prediction")?;
    if failed > 0 {
        eprintln!("{failed} of {} clouds could not be predicted", inputs.len());
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints answers; clouds that could not be read are named on standard error and counted.
fn show(answers: Vec<Answer>, bar: &ProgressBar, printer: &mut Output, failed: &mut usize) -> Result<()> {
    for (input, answer) in answers {
        bar.inc(1);
        match answer {
            Ok(prediction) => bar.suspend(|| match (&mut *printer, &prediction) {
                (Output::Species(printer), Prediction::Species(row)) => printer.row(input, row),
                (Output::Number(printer), Prediction::Number(forecast)) => printer.row(input, forecast),
                _ => bail!("{}: the prediction is of another kind than the model", input.name),
            })?,
            Err(e) => {
                *failed += 1;
                // The readers' errors name the file.
                let text = format!("{e:#}");
                bar.suspend(|| match text.starts_with(&input.name) {
                    true => eprintln!("error: {text}"),
                    false => eprintln!("error: {}: {text}", input.name),
                });
            }
        }
    }
    Ok(())
}

fn samples(inputs: &[Input], config: &Config, votes: usize) -> Vec<Result<Samples>> {
    inputs
        .par_iter()
        .map(|input| Ok((sample(input, config, votes)?, input.category(config)?)))
        .collect()
}

fn predict<'a>(
    (model, head, pass): (&PointNet, Option<&Head>, &Pass),
    inputs: &'a [Input],
    samples: Vec<Result<Samples>>,
    config: &Config,
    votes: usize,
) -> Result<Vec<Answer<'a>>> {
    let good: Vec<Vec<f32>> = samples
        .iter()
        .flatten()
        .flat_map(|s| s.0.iter().cloned())
        .collect();
    let categories = samples.iter().flatten().flat_map(|s| vec![s.1; votes]);
    let categories: Option<Vec<u32>> = categories.collect();
    let mut rows = Vec::new();
    if !good.is_empty() {
        let (channels, unknown) = (config.features.channels(), vec![0; good.len()]);
        let batch = Batch::new(&good, channels, config.cloud_points(), unknown, Vec::new())?;
        rows = match head {
            None => evaluate::batch_probabilities(model, &batch, pass)?,
            Some(_) => evaluate::batch_outputs(model, &batch, categories.as_deref(), pass)?,
        };
    }
    let prediction = |rows: &[Vec<f32>]| match head {
        None => Ok(Prediction::Species(mean(rows))),
        Some(head) => {
            let forecasts: Vec<Forecast> = rows.iter().map(|row| head.forecast(row)).collect();
            Ok(Prediction::Number(Forecast::pool(&forecasts)?))
        }
    };
    let mut means = rows.chunks(votes).map(prediction);
    let answer = |(input, sample): (&'a Input, Result<Samples>)| {
        let mean = sample.and_then(|_| means.next().context("the model returned no prediction")?);
        (input, mean)
    };
    Ok(inputs.iter().zip(samples).map(answer).collect())
}

fn mean(rows: &[Vec<f32>]) -> Vec<f32> {
    let classes = rows.first().map_or(0, Vec::len);
    (0..classes)
        .map(|c| rows.iter().map(|r| r[c]).sum::<f32>() / rows.len() as f32)
        .collect()
}

/// `votes` samples of a cloud, `[points, channels]` each.
fn sample(input: &Input, config: &Config, votes: usize) -> Result<Vec<Vec<f32>>> {
    let (most, points) = (config.most_points(), config.cloud_points());
    let cloud = config.sample.thin(input.cloud()?, most, config.seed)?;
    let (frame, features) = (config.frame, config.features);
    let of = |vote| prepare(&cloud, points, frame, features, &Augment::NONE, 0, vote);
    (0..votes as u64).map(of).collect()
}

//! `canopy eval`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use candle_core::DType;
use serde::Serialize;

use super::{
    data::open,
    profiling::{self, Profiling},
};
use crate::{
    device,
    kernels::Pass,
    loader::lengths,
    model::PointNet,
    precision::Precision,
    target::Head,
    train::{
        Config, EvaluateOptions, RunFolder, bar, checkpoint, choice, data, evaluate,
        numbers::{self, Number},
        summary,
    },
};

/// Options of `canopy eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  canopy eval runs/quick                      the run's test set
  canopy eval runs/quick --part validation
  canopy eval runs/quick --data other/ --part all --json
  canopy eval runs/quick --weights runs/quick/last.safetensors
  canopy eval runs/quick --weights pytorch.safetensors
  canopy eval runs/quick --precision bf16     what low precision costs in accuracy")]
pub struct Args {
    /// Folder of a run, or a checkpoint file
    run: PathBuf,
    /// Another data set than the run's own; its species must be among the run's, unless the run predicts a number
    #[arg(long, value_name = "PATH")]
    data: Option<String>,
    /// Part of the data
    #[arg(long, default_value = "test", value_parser = ["train", "validation", "test", "all"])]
    part: String,
    /// Other weights than the run's best ones: a checkpoint, or a safetensors file of PyTorch
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Test-time augmentation: average the probabilities over N samples of each cloud [default: the run's]
    #[arg(long, value_name = "N")]
    votes: Option<usize>,
    /// auto, cpu, cuda or cuda:N [default: the run's]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Format of the matrix products, as in `canopy train`; the run's own does not apply
    #[arg(long, value_parser = choice::<Precision>(&["fp32", "tf32", "bf16", "fp16"]), default_value = "fp32")]
    precision: Precision,
    /// Print the scores as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    profiling: Profiling,
}

/// Scores a model and prints the table.
///
/// # Errors
/// Names what is missing or does not fit.
pub fn run(args: &Args) -> Result<ExitCode> {
    let best = best_of(&args.run)?;
    let saved = checkpoint::load(&best)?;
    let progress = saved.progress;
    let species = progress.species.clone();
    let config = Config {
        data: args.data.clone().unwrap_or(progress.config.data.clone()),
        ..progress.config.clone()
    };
    let chosen = device::choose(args.device.as_ref().unwrap_or(&config.device))?;
    let head = progress.head.clone();
    let network = config.network(head.as_ref().map_or(species.len(), Head::outputs));
    let model = PointNet::new(&network, &chosen.device, DType::F32, 0)?;
    let (weights, source) = match &args.weights {
        Some(path) => (checkpoint::weights(path, &species)?, path),
        None => (saved.model, &best),
    };
    model.from_map(&weights, &source.display().to_string())?;
    let whole = match &args.data {
        Some(path) => open::any(Path::new(path))?,
        None => open::of_run(&progress)?.0,
    };
    let data = data::choose(&config, &whole)?;
    open::warn_of_degenerate(&data)?;
    let data = match head {
        None => data.relabel(&species)?,
        Some(_) => data,
    };
    let records = match args.part.as_str() {
        "all" => {
            let degenerate = data.degenerate()?;
            (0..data.len()).filter(|r| !degenerate.contains(r)).collect()
        }
        part => {
            let split = data::split(&config, &data)?;
            match part {
                "train" => split.train,
                "validation" => split.validation,
                _ => split.test,
            }
        }
    };
    ensure!(
        !records.is_empty(),
        "the run has no {} set: choose another part of the data with --part",
        args.part
    );
    let lengths = lengths(&data, config.cloud_points())?;
    let options = EvaluateOptions {
        points: config.cloud_points(),
        lengths: &lengths,
        frame: config.frame,
        features: config.features,
        batch: config.batch,
        votes: args.votes.unwrap_or(config.votes).max(1),
        workers: config.workers,
        pass: Pass::eval()
            .plain(config.plain)
            .lowered(args.precision.lowering(&chosen.device)),
    };
    if let Some(description) = args.precision.description(&chosen.device, config.plain) {
        eprintln!("precision: {description}");
    }
    let recording = args.profiling.start(&chosen.device)?;
    let bar = bar((records.len() * options.votes) as u64, "evaluating");
    let mut each = |n: usize| {
        bar.set_position(n as u64);
        Ok(())
    };
    let (json, text) = match head {
        None => {
            let predictions = evaluate::predict(&model, &data, &records, &options, &mut each)?;
            let scores = predictions.scores(&args.part, &data.species);
            (json(args, &scores)?, summary::scores_text(&scores))
        }
        Some(head) => {
            let number = Number::of(config.target, head, &data)?;
            let categories = config.categories_of(&data)?;
            let warn = |ids: &[u32]| progress.category_warning(&data, ids, &records);
            if let Some(warning) = categories.as_deref().and_then(warn) {
                eprintln!("note: {warning}");
            }
            let data = (&data, categories.as_deref());
            let forecasts = numbers::predict(&model, data, &number, &records, &options, &mut each)?;
            let scores = forecasts.scores(&args.part);
            (json(args, &scores)?, scores.text())
        }
    };
    bar.finish_and_clear();
    let folder = best.parent().unwrap_or(Path::new("."));
    profiling::finish(recording, &folder.join("profile-eval"), "the evaluation")?;
    match args.json {
        true => say!("{json}"),
        false => say!("{}", text.trim_end()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The scores, and in which format they were computed.
fn json(args: &Args, scores: &impl Serialize) -> Result<String> {
    #[derive(Serialize)]
    struct Found<'a, T> {
        precision: Precision,
        #[serde(flatten)]
        scores: &'a T,
    }
    let precision = args.precision;
    Ok(serde_json::to_string_pretty(&Found { precision, scores })?)
}

/// The best weights of a run, given its folder or the file itself.
///
/// # Errors
/// Names the folder, if it has no such file.
pub fn best_of(run: &Path) -> Result<PathBuf> {
    if run.is_file() {
        return Ok(run.to_owned());
    }
    let best = run.join(RunFolder::BEST);
    ensure!(
        best.is_file(),
        "{} contains no {}: is it the folder of a run that has completed an evaluation?",
        run.display(),
        RunFolder::BEST
    );
    best.canonicalize()
        .with_context(|| format!("{} cannot be read", best.display()))
}

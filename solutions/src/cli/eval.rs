//! `canopy eval`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, ensure};
use serde::Serialize;

use super::{
    profiling,
    train::selected,
    trained::{self, Trained},
};
use crate::{
    precision::Precision,
    train::{
        Config, bar, data, evaluate,
        numbers::Number,
        species::Species,
        task::{Part, Task},
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
    #[command(flatten)]
    network: trained::Options,
    /// Another data set than the run's own; its species must be among the run's, unless the run predicts a number
    #[arg(long, value_name = "PATH")]
    data: Option<String>,
    /// Part of the data
    #[arg(long, default_value = "test", value_parser = ["train", "validation", "test", "all"])]
    part: String,
    /// Other weights than the run's best ones: a checkpoint, or a safetensors file of PyTorch
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Print the scores as JSON
    #[arg(long)]
    json: bool,
}

/// Scores a model and prints the table.
pub fn run(args: &Args) -> Result<ExitCode> {
    let trained = Trained::open(&args.network, args.weights.as_deref(), None)?;
    let progress = &trained.progress;
    let config = Config {
        data: args.data.clone().unwrap_or(progress.config.data.clone()),
        votes: args.network.votes(&progress.config),
        ..progress.config.clone()
    };
    let data = selected(&config, true)?;
    let data = match progress.head {
        None => data.relabel(&progress.species)?,
        Some(_) => data,
    };
    let records = match args.part.as_str() {
        "all" => (0..data.len()).collect(),
        name => {
            let split = data::split(&config, &data)?;
            let part = split.parts().into_iter().find(|(part, _)| *part == name);
            part.map_or(Vec::new(), |(_, records)| records.to_vec())
        }
    };
    ensure!(
        !records.is_empty(),
        "the run has no {} set: choose another part of the data with --part",
        args.part
    );
    let recording = args.network.profiling.start(&trained.device)?;
    let bar = bar((records.len() * config.votes) as u64, "evaluating");
    let mut each = |n: usize| {
        bar.set_position(n as u64);
        Ok(())
    };
    let categories = config.categories_of(&data)?;
    let warn = |ids: &[u32]| progress.category_warning(&data, ids, &records);
    if let Some(warning) = categories.as_deref().and_then(warn) {
        note!("note: {warning}");
    }
    let part = Part {
        name: &args.part,
        data: &data,
        categories: categories.as_deref(),
        records: &records,
    };
    let text = match progress.head.clone() {
        None => {
            let species = Species(&data.species);
            scores(args, &species, &trained, &part, &config, &mut each)?
        }
        Some(head) => {
            let number = Number::of(config.target, head, &data)?;
            scores(args, &number, &trained, &part, &config, &mut each)?
        }
    };
    bar.finish_and_clear();
    profiling::finish(recording, &trained.folder.join("profile-eval"), "the evaluation")?;
    say!("{}", text.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// The scores as text, or as JSON with the format in which they were computed.
fn scores<T: Task>(
    args: &Args,
    task: &T,
    trained: &Trained,
    part: &Part,
    config: &Config,
    each: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<String> {
    #[derive(Serialize)]
    struct Printed<S> {
        precision: Precision,
        #[serde(flatten)]
        scores: S,
    }
    let predictions = evaluate::predict(task, &trained.model, part, config, &trained.pass, each)?;
    let scores = task.scores(part, &predictions);
    let precision = args.network.precision;
    match args.json {
        true => Ok(serde_json::to_string_pretty(&Printed { precision, scores })?),
        false => Ok(scores.to_string()),
    }
}

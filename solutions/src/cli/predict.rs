//! `canopy predict`.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use candle_core::DType;
use canopy_data::formats;
use indicatif::ProgressBar;
use rayon::prelude::*;
use serde_json::json;

use super::{
    eval::best_of,
    profiling::{self, Profiling},
};
use crate::{
    device,
    loader::{Augment, Batch, prefetched, prepare},
    model::PointNet,
    profile::{self, Kind},
    train::{Config, bar, checkpoint, evaluate, metrics},
};

/// Options of `canopy predict`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file that cannot be read is named on standard error, the others are still predicted, and the exit
code is 1.

Examples:
  canopy predict runs/quick tree.laz
  canopy predict runs/quick scans/ --format csv > species.csv
  canopy predict runs/quick a.las b.ply c.xyz --format json --votes 8")]
pub struct Args {
    /// Folder of a run, or a checkpoint file
    run: PathBuf,
    /// Clouds of one tree each, or folders of such
    #[arg(required = true)]
    clouds: Vec<PathBuf>,
    /// How to print
    #[arg(long, default_value = "table", value_parser = ["table", "csv", "json"])]
    format: String,
    /// Samples of a cloud whose probabilities are averaged; otherwise the run's number
    #[arg(long, value_name = "N")]
    votes: Option<usize>,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto", value_name = "NAME")]
    device: String,
    #[command(flatten)]
    profiling: Profiling,
}

/// One cloud's answer: probabilities in label order, or what went wrong.
type Answer = (PathBuf, Result<Vec<f32>>);

/// Names the species of clouds.
///
/// # Errors
/// A run that cannot be used. Clouds that cannot be read are told apart and make the exit code 1.
pub fn run(args: &Args) -> Result<ExitCode> {
    let best = best_of(&args.run)?;
    let saved = checkpoint::load(&best)?;
    let (config, species) = (saved.progress.config, saved.progress.species);
    let chosen = device::choose(&args.device)?;
    let model = PointNet::new(&config.network(species.len()), &chosen.device, DType::F32, 0)?;
    model.from_map(&saved.model, &best.display().to_string())?;
    let files = clouds(&args.clouds)?;
    let votes = args.votes.unwrap_or(config.votes).max(1);
    let bar = bar(files.len() as u64, "predicting");
    let mut printer = Printer::new(&args.format, &species);
    let mut failed = 0;
    // A batch of files at a time: memory does not grow with the folder. The next is read while the model looks at this one.
    let batches: Vec<&[PathBuf]> = files.chunks((config.batch / votes).max(1)).collect();
    let read = |i: usize| Ok(samples(batches[i], &config, votes));
    let recording = args.profiling.start(&chosen.device)?;
    let (mut at, mut outcome) = (0, Ok(()));
    let mut waits = Some(profile::span("next batch", Kind::Load));
    prefetched(batches.len(), 1, 2, &read, &mut |samples| {
        waits = None;
        outcome = samples
            .and_then(|samples| predict(&model, batches[at], samples, &config, votes))
            .and_then(|answers| show(answers, &bar, &mut printer, &mut failed));
        at += 1;
        waits = Some(profile::span("next batch", Kind::Load));
        outcome.is_ok()
    });
    drop(waits);
    outcome?;
    bar.finish_and_clear();
    printer.end()?;
    let folder = best.parent().unwrap_or(Path::new("."));
    profiling::finish(recording, &folder.join("profile-predict"), "the prediction")?;
    if failed > 0 {
        eprintln!("{failed} of {} clouds could not be predicted", files.len());
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints answers as they come; what could not be read is named on standard error and counted.
fn show(answers: Vec<Answer>, bar: &ProgressBar, printer: &mut Printer, failed: &mut usize) -> Result<()> {
    for (path, answer) in answers {
        bar.inc(1);
        match answer {
            Ok(row) => bar.suspend(|| printer.row(&path, &row))?,
            Err(e) => {
                *failed += 1;
                // The reader's errors name the file already.
                let (file, said) = (path.display().to_string(), format!("{e:#}"));
                let named = if said.starts_with(&file) {
                    said
                } else {
                    format!("{file}: {said}")
                };
                bar.suspend(|| eprintln!("error: {named}"));
            }
        }
    }
    Ok(())
}

fn samples(files: &[PathBuf], config: &Config, votes: usize) -> Vec<Result<Vec<Vec<f32>>>> {
    files.par_iter().map(|file| sample(file, config, votes)).collect()
}

fn predict(
    model: &PointNet,
    files: &[PathBuf],
    samples: Vec<Result<Vec<Vec<f32>>>>,
    config: &Config,
    votes: usize,
) -> Result<Vec<Answer>> {
    let good: Vec<Vec<f32>> = samples.iter().flatten().flatten().cloned().collect();
    let mut rows = Vec::new();
    if !good.is_empty() {
        let (channels, unknown) = (config.features.channels(), vec![0; good.len()]);
        let batch = Batch::new(&good, channels, config.cloud_points(), unknown, Vec::new())?;
        rows = evaluate::batch_probabilities(model, &batch, false)?;
    }
    let mut means = rows.chunks(votes).map(mean);
    let answer = |(file, sample): (&PathBuf, Result<Vec<Vec<f32>>>)| {
        (
            file.clone(),
            sample.and_then(|_| means.next().context("the model gave no answer")),
        )
    };
    Ok(files.iter().zip(samples).map(answer).collect())
}

fn mean(rows: &[Vec<f32>]) -> Vec<f32> {
    let classes = rows.first().map_or(0, Vec::len);
    (0..classes)
        .map(|c| rows.iter().map(|r| r[c]).sum::<f32>() / rows.len() as f32)
        .collect()
}

/// `votes` samples of a file, `[points, channels]` each.
fn sample(file: &Path, config: &Config, votes: usize) -> Result<Vec<Vec<f32>>> {
    let (most, points) = (config.most_points(), config.cloud_points());
    let cloud = config.sample.thin(formats::read(file)?, most, config.seed)?;
    let (frame, features) = (config.frame, config.features);
    let of = |vote| prepare(&cloud, points, frame, features, &Augment::NONE, 0, vote);
    (0..votes as u64).map(of).collect()
}

/// The files named, and the clouds in the folders named, sorted within each.
fn clouds(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let list = fs::read_dir(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let mut inside: Vec<PathBuf> = list.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?;
        inside.retain(|p| p.is_file() && formats::Format::from_path(p).is_some());
        ensure!(
            !inside.is_empty(),
            "{} holds no cloud: .las .laz .ply .xyz .pts .txt .csv are read",
            path.display()
        );
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

/// Prints rows as they come.
struct Printer<'a> {
    format: &'a str,
    species: &'a [String],
    rows: usize,
}

impl<'a> Printer<'a> {
    fn new(format: &'a str, species: &'a [String]) -> Self {
        Self {
            format,
            species,
            rows: 0,
        }
    }

    fn row(&mut self, path: &Path, row: &[f32]) -> Result<()> {
        let mut out = io::stdout().lock();
        let name = &self.species[metrics::argmax(row)];
        let file = path.display().to_string();
        match self.format {
            "csv" => {
                let mut csv = csv::Writer::from_writer(out);
                if self.rows == 0 {
                    let heads = self.species.iter().map(|s| format!("p({s})"));
                    csv.write_record(["file".into(), "species".into()].into_iter().chain(heads))?;
                }
                let numbers = row.iter().map(|p| format!("{p:.4}"));
                csv.write_record([file, name.clone()].into_iter().chain(numbers))?;
                csv.flush()?;
            }
            "json" => {
                let open = if self.rows == 0 { "[" } else { "," };
                let each: serde_json::Map<_, _> = self
                    .species
                    .iter()
                    .cloned()
                    .zip(row.iter().map(|p| json!(p)))
                    .collect();
                writeln!(
                    out,
                    "{open}{}",
                    json!({ "file": file, "species": name, "probabilities": each })
                )?;
            }
            _ => {
                if self.rows == 0 {
                    writeln!(out, "{:<40}  {:<16}  sure  else", "file", "species")?;
                }
                writeln!(out, "{}", self.line(&file, row))?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// File, first choice with its probability, second choice with its own; within 80 columns.
    fn line(&self, file: &str, row: &[f32]) -> String {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
        let count = file.chars().count();
        let short = match count {
            0..=40 => file.to_owned(),
            _ => format!("…{}", file.chars().skip(count - 39).collect::<String>()),
        };
        let second = order
            .get(1)
            .map(|&i| format!("{} {:.0}%", self.species[i], 100.0 * row[i]));
        let first = order[0];
        format!(
            "{short:<40}  {:<16}  {:>3.0}%  {}",
            self.species[first],
            100.0 * row[first],
            second.unwrap_or_default()
        )
    }

    fn end(self) -> Result<()> {
        if self.format == "json" {
            writeln!(io::stdout(), "{}", if self.rows == 0 { "[]" } else { "]" })?;
        }
        Ok(())
    }
}

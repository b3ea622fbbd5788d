//! `canopy predict`.

mod inputs;
mod print;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use rayon::prelude::*;

use self::{
    inputs::Input,
    print::{Printer, Row},
};
use super::{
    profiling,
    trained::{self, Trained},
};
use crate::{
    kernels::Pass,
    loader::{Augment, Batch, prefetched, prepare},
    model::PointNet,
    profile::{self, Kind},
    train::{Config, bar, evaluate, numbers::Number, species::Species, task::Task},
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
  canopy predict runs/quick a.las b.laz c.xyz --format json --votes 8")]
pub struct Args {
    #[command(flatten)]
    network: trained::Options,
    /// Point files, folders of point files, data sets
    #[arg(required = true)]
    clouds: Vec<PathBuf>,
    /// Output format
    #[arg(long, default_value = "table", value_parser = ["table", "csv", "json"])]
    format: String,
}

/// The samples of a cloud, `[points, channels]` each, and its category if the network expects one.
type Samples = (Vec<Vec<f32>>, Option<u32>);

/// Predicts the species of clouds, or the number that the run was trained for.
/// Clouds that cannot be read are reported one by one, and make the exit code 1.
pub fn run(args: &Args) -> Result<ExitCode> {
    let trained = Trained::open(&args.network, None, Some("auto"))?;
    let (config, species) = (&trained.progress.config, &trained.progress.species);
    let seen = &trained.progress.categories;
    let inputs = inputs::all(&args.clouds)?;
    let unseen = |input: &&Input| matches!(input.category(config), Ok(Some(id)) if !seen.contains(&id));
    if let Some(input) = inputs.iter().find(unseen) {
        note!(
            "note: no training cloud has the categories ({:?}) of {}, and of perhaps more clouds: the embedding of these is \
             untrained, so expect worse predictions",
            config.categories,
            input.name
        );
    }
    let recording = args.network.profiling.start(&trained.device)?;
    let predictor = Predictor {
        model: &trained.model,
        pass: &trained.pass,
        config,
        votes: args.network.votes(config),
        inputs: &inputs,
    };
    let mut printer = Printer {
        format: &args.format,
        ..Printer::default()
    };
    let failed = match trained.progress.head.clone() {
        None => {
            let labelled = inputs.iter().any(|i| i.label.is_some());
            predictor.print(&Species(species), &mut |input, p| {
                printer.row(&Row::of_species(input, p, species, labelled))
            })?
        }
        Some(head) => {
            let number = Number {
                target: config.target,
                head,
                values: Vec::new(),
                guess: None,
            };
            predictor.print(&number, &mut |input, forecast| {
                printer.row(&Row::of_number(input, forecast, config.target))
            })?
        }
    };
    printer.end(config)?;
    profiling::finish(
        recording,
        &trained.folder.join("profile-predict"),
        "the prediction",
    )?;
    if failed > 0 {
        note!("{failed} of {} clouds could not be predicted", inputs.len());
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Predicts clouds with a model.
struct Predictor<'a> {
    model: &'a PointNet,
    pass: &'a Pass,
    config: &'a Config,
    votes: usize,
    inputs: &'a [Input],
}

impl Predictor<'_> {
    /// Predicts all clouds, which `print` prints. Returns the number of those that could not be read; they are named on standard
    /// error.
    fn print<T: Task>(
        &self,
        task: &T,
        print: &mut dyn FnMut(&Input, &T::Prediction) -> Result<()>,
    ) -> Result<usize> {
        let bar = bar(self.inputs.len() as u64, "predicting");
        // Memory does not grow with the number of clouds. The next batch is read during the forward pass of this one.
        let batches: Vec<&[Input]> = self
            .inputs
            .chunks((self.config.batch / self.votes).max(1))
            .collect();
        let read = |i: usize| Ok(self.samples(batches[i]));
        let (mut at, mut failed, mut outcome) = (0, 0, Ok(()));
        let mut waits = Some(profile::span("next batch", Kind::Load));
        prefetched(batches.len(), 1, 2, &read, &mut |samples| {
            waits = None;
            let show = |samples| -> Result<()> {
                let predictions = self.predict(task, samples)?;
                for (input, prediction) in batches[at].iter().zip(predictions) {
                    bar.inc(1);
                    failed += usize::from(prediction.is_err());
                    bar.suspend(|| match prediction {
                        Ok(prediction) => print(input, &prediction),
                        Err(error) => {
                            // The readers' errors name the file.
                            let text = format!("{error:#}");
                            match text.starts_with(&input.name) {
                                true => note!("error: {text}"),
                                false => note!("error: {}: {text}", input.name),
                            }
                            Ok(())
                        }
                    })?;
                }
                Ok(())
            };
            outcome = samples.and_then(show);
            at += 1;
            waits = Some(profile::span("next batch", Kind::Load));
            outcome.is_ok()
        });
        drop(waits);
        outcome?;
        bar.finish_and_clear();
        Ok(failed)
    }

    fn samples(&self, inputs: &[Input]) -> Vec<Result<Samples>> {
        let samples = |input: &Input| Ok((self.sample(input)?, input.category(self.config)?));
        inputs.par_iter().map(samples).collect()
    }

    /// [`votes`](Self::votes) samples of a cloud.
    fn sample(&self, input: &Input) -> Result<Vec<Vec<f32>>> {
        let config = self.config;
        let cloud = config.sample.thin(input.cloud()?, config.points, config.seed)?;
        let (points, frame, features) = (config.points, config.frame, config.features);
        let of = |vote| prepare(&cloud, points, frame, features, &Augment::NONE, 0, vote);
        (0..self.votes as u64).map(of).collect()
    }

    /// The predictions for clouds with these samples, or why they have none.
    fn predict<T: Task>(
        &self,
        task: &T,
        samples: Vec<Result<Samples>>,
    ) -> Result<Vec<Result<T::Prediction>>> {
        let good = || samples.iter().flatten();
        let clouds: Vec<Vec<f32>> = good().flat_map(|s| s.0.iter().cloned()).collect();
        let categories: Option<Vec<u32>> = good().flat_map(|s| vec![s.1; self.votes]).collect();
        let mut rows = Vec::new();
        if !clouds.is_empty() {
            let (channels, unknown) = (self.config.features.channels(), vec![0; clouds.len()]);
            let batch = Batch::new(&clouds, channels, unknown, Vec::new());
            rows = evaluate::outputs(task, self.model, &batch, categories, self.pass)?;
        }
        let mut rows = rows.chunks(self.votes);
        let prediction = |sample: Result<Samples>| {
            sample.and_then(|_| task.prediction(rows.next().context("the model returned no prediction")?))
        };
        Ok(samples.into_iter().map(prediction).collect())
    }
}

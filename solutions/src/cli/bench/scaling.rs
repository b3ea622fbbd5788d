//! The options of `canopy bench parallel`, and its short trainings.

use std::path::PathBuf;

use anyhow::Result;
use canopy_data::Dataset;

use crate::{
    model::Kind,
    train::{
        Config, choice,
        ranks::{
            RankFunctions,
            measure::{ShortRun, short_run},
        },
        short::Forest,
    },
};

/// Options of `canopy bench parallel`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each rank has one thread, so with more ranks than cores the ranks share cores, and the efficiency falls for that reason.
By default the predictions use the latency and bandwidth measured here; for another network, give --alpha and --beta:
  canopy bench parallel --alpha 5e-6 --beta 1e-10")]
pub struct Args {
    /// Numbers of ranks to measure; the first is the baseline
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_name = "N,…")]
    pub(super) ranks: Vec<usize>,
    /// Network
    #[arg(long, default_value = "vanilla", value_parser = choice::<Kind>(&["full", "vanilla"]))]
    pub(super) model: Kind,
    /// Points per cloud
    #[arg(long, default_value_t = 256, value_name = "N")]
    pub(super) points: usize,
    /// Clouds per rank; in strong scaling, the batch size is this times the largest number of ranks
    #[arg(long, default_value_t = 8, value_name = "N")]
    pub(super) batch: usize,
    /// Divide the width of every hidden layer
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) width: usize,
    /// Steps in each of two epochs; the fastest step counts
    #[arg(long, default_value_t = 6, value_name = "N")]
    pub(super) steps: usize,
    /// Latency of a message for the prediction, in seconds [default: measured]
    #[arg(long, value_name = "SECONDS", requires = "beta")]
    pub(super) alpha: Option<f64>,
    /// Inverse bandwidth for the prediction, in seconds per byte [default: measured]
    #[arg(long, value_name = "SECONDS", requires = "alpha")]
    pub(super) beta: Option<f64>,
    /// Write the plot to this SVG file
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// The network and the data of the trainings.
pub struct Work {
    base: Config,
    forest: Dataset,
    records: Vec<usize>,
    steps: usize,
}

impl Work {
    /// Opens the built-in forest with the network of `args`.
    ///
    /// # Errors
    /// Returns the errors of [`Forest::open`].
    pub fn open(args: &Args) -> Result<Self> {
        let base = Config {
            model: args.model,
            points: args.points,
            width: args.width,
            epochs: 2,
            ..Config::default()
        };
        let Forest {
            config, data, split, ..
        } = Forest::open(base)?;
        Ok(Self {
            base: config,
            forest: data,
            records: split.train,
            steps: args.steps,
        })
    }

    /// Returns the configuration and the records for two epochs of `self.steps` steps on `ranks` ranks.
    fn short(&self, ranks: usize, batch: usize) -> Result<(Config, Vec<usize>)> {
        let config = Config {
            ranks,
            batch,
            ..self.base.clone()
        };
        config.validate()?;
        let records = self.records.iter().cycle().take(batch * self.steps);
        Ok((config, records.copied().collect()))
    }

    /// Trains with each number of ranks: weak scaling, with a batch that grows with the ranks, then strong scaling, with a
    /// fixed batch.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid or training fails.
    pub fn runs(&self, args: &Args) -> Result<[Vec<ShortRun>; 2]> {
        let most = args.ranks.iter().copied().max().unwrap_or(1);
        let one = |ranks: usize, batch: usize| -> Result<ShortRun> {
            let (config, records) = self.short(ranks, batch)?;
            short_run(&config, &self.forest, &records, RankFunctions::default(), false)
        };
        let weak = args.ranks.iter().map(|&p| one(p, args.batch * p));
        let strong = args.ranks.iter().map(|&p| one(p, args.batch * most));
        Ok([weak.collect::<Result<_>>()?, strong.collect::<Result<_>>()?])
    }
}

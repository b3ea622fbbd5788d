//! The short trainings of `canopy bench parallel`.

use anyhow::Result;
use canopy_data::Dataset;

use super::parallel::Args;
use crate::{
    model::Kind,
    train::{
        Config,
        ranks::{
            Pieces,
            measure::{ShortRun, short_run},
        },
        short::Forest,
    },
};

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
            model: if args.model == "full" {
                Kind::Full
            } else {
                Kind::Vanilla
            },
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
            short_run(&config, &self.forest, &records, Pieces::default(), false)
        };
        let weak = args.ranks.iter().map(|&p| one(p, args.batch * p));
        let strong = args.ranks.iter().map(|&p| one(p, args.batch * most));
        Ok([weak.collect::<Result<_>>()?, strong.collect::<Result<_>>()?])
    }
}

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

/// What is trained.
pub struct Work {
    base: Config,
    forest: Dataset,
    records: Vec<usize>,
    steps: usize,
}

impl Work {
    /// The network and the trees that `args` ask for.
    ///
    /// # Errors
    /// The forest's.
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

    /// Two epochs of so many steps on `ranks` ranks.
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

    /// For each number of ranks: a batch that grows with them, and one that they share.
    ///
    /// # Errors
    /// The trainer's.
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

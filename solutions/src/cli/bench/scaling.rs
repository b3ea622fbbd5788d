//! The short trainings of `canopy bench parallel`.

use anyhow::Result;
use canopy_data::Dataset;

use super::{apart, parallel::Args};
use crate::{
    model::Kind,
    train::{
        Config,
        ranks::{
            Pieces,
            measure::{ShortRun, short_run_with},
            processes::Others,
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

    /// A short run of one batch size, to be taken part in.
    ///
    /// # Errors
    /// A batch that cannot be shared.
    pub fn of(self, ranks: usize, batch: usize) -> Result<apart::Short> {
        let (config, records) = self.short(ranks, batch)?;
        Ok((config, self.forest, records))
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
    pub fn runs(&self, args: &Args, processes: bool) -> Result<[Vec<ShortRun>; 2]> {
        let most = args.ranks.iter().copied().max().unwrap_or(1);
        let one = |ranks: usize, batch: usize| -> Result<ShortRun> {
            let (config, records) = self.short(ranks, batch)?;
            let run = |others: Others| {
                short_run_with(&config, &self.forest, &records, Pieces::default(), false, others)
            };
            match processes && ranks > 1 {
                true => apart::steps(ranks, batch, run),
                false => run(Others::Threads),
            }
        };
        let weak = args.ranks.iter().map(|&p| one(p, args.batch * p));
        let strong = args.ranks.iter().map(|&p| one(p, args.batch * most));
        Ok([weak.collect::<Result<_>>()?, strong.collect::<Result<_>>()?])
    }
}

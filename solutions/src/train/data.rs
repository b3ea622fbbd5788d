//! From a run's configuration to its data and split.

use anyhow::{Result, ensure};
use canopy_data::{
    Dataset,
    split::{self, Shares, Split},
};

use super::Config;

/// What a run is about, out of the whole data set.
///
/// # Errors
/// Fewer than two species.
pub fn choose(config: &Config, whole: &Dataset) -> Result<Dataset> {
    let data = whole.subset(&config.species, config.min_points)?;
    let species = data.species.len();
    ensure!(
        species >= 2,
        "{} has {species} species: telling apart needs at least 2",
        data.name
    );
    Ok(data.sampled(config.sample, config.most_points(), config.seed))
}

/// Which records train, choose and test: by plots, never a tree on two sides.
///
/// # Errors
/// A data set that cannot be split so.
pub fn split(config: &Config, data: &Dataset) -> Result<Split> {
    if config.folds > 0 {
        // The fold tests and nothing chooses an epoch: a score on plots that also chose would flatter.
        let fold = split::folds(data, config.folds, config.fold, config.seed)?;
        return Ok(Split {
            test: [fold.test, fold.validation].concat(),
            validation: Vec::new(),
            ..fold
        });
    }
    let shares = Shares {
        validation: config.validation,
        test: config.test,
    };
    split::by_plot(data, shares, config.seed)
}

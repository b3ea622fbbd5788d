//! The data set and the split of a run, from its configuration.

use anyhow::{Result, ensure};
use canopy_data::{
    Dataset,
    split::{self, Shares, Split},
};

use super::Config;

/// Selects the species and clouds that a run uses from the whole data set.
///
/// # Errors
/// Returns an error if fewer than two species are left.
pub fn choose(config: &Config, whole: &Dataset) -> Result<Dataset> {
    let data = whole.subset(&config.species, config.min_points)?;
    let species = data.species.len();
    ensure!(
        species >= 2,
        "{} has {species} species: classification needs at least 2",
        data.name
    );
    Ok(data.sampled(config.sample, config.points, config.seed))
}

/// Splits the records into training, validation and test set by plot, so that no tree is in two of them.
///
/// # Errors
/// Returns an error if the data set has too few plots for the split.
pub fn split(config: &Config, data: &Dataset) -> Result<Split> {
    if config.folds > 0 {
        // The whole fold is the test set, and there is no validation set: a score on plots that also selected the epoch would
        // be biased.
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

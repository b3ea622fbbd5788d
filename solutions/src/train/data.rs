//! The data set and the split of a run, from its configuration.

use anyhow::{Result, ensure};
use canopy_data::{
    Dataset, TreeRecord,
    split::{self, Shares, Split},
};

use super::{Config, Target, target};

/// The part of the data set that the configuration selects.
///
/// # Errors
/// Returns an error if it has fewer than two species.
pub fn choose(config: &Config, whole: &Dataset) -> Result<Dataset> {
    let data = whole.subset(&config.species, config.min_points)?;
    let species = data.species.len();
    ensure!(
        species >= 2 || config.target != Target::Species,
        "{} has {species} species: a classifier needs at least 2",
        data.name
    );
    // Before anything is written.
    config.target.values(&data)?;
    config.categories_of(&data)?;
    let data = data.partial(config.visible, config.seed);
    Ok(data.sampled(config.sample, config.most_points(), config.seed))
}

impl Config {
    /// The category of each record for the network's embedding; `None` without categories.
    ///
    /// # Errors
    /// Names the first record whose categories are not known.
    pub fn categories_of(&self, data: &Dataset) -> Result<Option<Vec<u32>>> {
        target::categories(&self.categories, data)
    }

    /// The category of one record, as [`Self::categories_of`].
    ///
    /// # Errors
    /// Returns an error if its categories are not known.
    pub fn category_of(&self, record: &TreeRecord) -> Result<u32> {
        target::combination(&self.categories, record)
    }
}

/// Training, validation and test set: split by plots, so that all scans of a tree are in the same set.
///
/// # Errors
/// Returns an error if the data set cannot be split so.
pub fn split(config: &Config, data: &Dataset) -> Result<Split> {
    if config.folds > 0 {
        return Ok(tested(split::folds(
            data,
            config.folds,
            config.fold,
            config.seed,
        )?));
    }
    let Config { validation, test, .. } = *config;
    match (validation > 0.0, test > 0.0) {
        (false, false) => Ok(Split {
            train: (0..data.len()).collect(),
            ..Split::default()
        }),
        (false, true) => {
            let shares = Shares {
                validation: test,
                test: 0.0,
            };
            Ok(tested(split::by_plot(data, shares, config.seed)?))
        }
        (true, _) => split::by_plot(data, Shares { validation, test }, config.seed),
    }
}

/// The same split with the validation set as test set. No epoch is chosen then: scores on plots that also chose the epoch
/// would be too high.
fn tested(split: Split) -> Split {
    let warnings = split.warnings.iter();
    Split {
        warnings: warnings.map(|w| w.replace("validation", "test")).collect(),
        train: split.train,
        test: split.validation,
        validation: Vec::new(),
    }
}

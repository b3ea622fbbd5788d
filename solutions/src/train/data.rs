//! The data set and the split of a run, from its configuration.

use anyhow::{Result, ensure};
use canopy_data::{
    Dataset, TreeRecord,
    split::{self, Shares, Split, species_counts},
};

use super::{Category, Config, Target};

/// The part of `usable`, a data set whose clouds have an extent ([`Dataset::with_extent`]), that the configuration selects.
///
/// # Errors
/// Returns an error if it has fewer than two species, or a species of which no cloud is in `usable`.
pub fn choose(config: &Config, usable: &Dataset) -> Result<Dataset> {
    let data = usable.subset(&config.species, config.min_points)?;
    let all: Vec<usize> = (0..usable.len()).collect();
    for (species, count) in usable.species.iter().zip(species_counts(usable, &all)) {
        ensure!(
            count > 0 || config.target != Target::Species || !data.species.contains(species),
            "{}: the clouds of '{species}' have no extent: add trees of it, or choose other --species",
            data.name
        );
    }
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
    Ok(data.sampled(config.sample, config.points, config.seed))
}

impl Config {
    /// The category of each record for the network's embedding; `None` without categories.
    ///
    /// # Errors
    /// Names the first record whose categories are not known.
    pub fn categories_of(&self, data: &Dataset) -> Result<Option<Vec<u32>>> {
        if self.categories.is_empty() {
            return Ok(None);
        }
        let ids = data.records.iter().map(|record| self.category_of(record));
        ids.collect::<Result<_>>().map(Some)
    }

    /// The category of one record: its combination of [`Config::categories`], as [`Self::categories_of`].
    ///
    /// # Errors
    /// Returns an error if its categories are not known.
    pub fn category_of(&self, record: &TreeRecord) -> Result<u32> {
        let add = |id, c: &Category| Ok(id * c.count() + c.id(record)?);
        self.categories.iter().try_fold(0, add)
    }
}

/// Training, validation and test set: split by plots, so that all scans of a tree are in the same set.
///
/// # Errors
/// Returns an error if the data set cannot be split so. Without a share for validation no epoch is chosen: scores on plots
/// that also chose the epoch would be too high.
pub fn split(config: &Config, data: &Dataset) -> Result<Split> {
    let Config { validation, test, .. } = *config;
    if config.folds > 0 {
        return split::folds(data, config.folds, config.fold, config.seed);
    }
    if validation > 0.0 || test > 0.0 {
        return split::by_plot(data, Shares { validation, test }, config.seed);
    }
    Ok(Split {
        train: (0..data.len()).collect(),
        ..Split::default()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use canopy_data::Cloud;

    use super::*;

    /// 24 trees of three species on 6 plots; those of `flat` have no extent.
    fn set(flat: &[usize]) -> Dataset {
        let record = |i: usize| TreeRecord {
            tree: format!("t{i}"),
            species: i % 3,
            plot: format!("p{}", i / 4),
            ..TreeRecord::default()
        };
        let cloud = |i: usize| match flat.contains(&i) {
            true => Cloud::from_points(vec![[1.0; 3]; 7]),
            false => Cloud::from_points(vec![[1.0; 3], [2.0; 3]]),
        };
        let clouds: Vec<Cloud> = (0..24).map(cloud).collect();
        let species = ["ash", "oak", "elm"].map(String::from).to_vec();
        let records = (0..24).map(record).collect();
        Dataset::new("set".into(), species, records, "d".into(), Arc::new(clouds))
    }

    #[test]
    fn a_species_without_any_cloud_that_has_an_extent_is_an_error_unless_it_is_not_chosen() {
        let config = Config {
            species: vec!["ash".into(), "elm".into()],
            ..Config::default()
        };
        let oaks: Vec<usize> = (0..8).map(|i| 3 * i + 1).collect();
        let (usable, _) = set(&oaks).with_extent().unwrap();
        assert_eq!(choose(&config, &usable).unwrap().len(), 16);
        let said = choose(&Config::default(), &usable).unwrap_err().to_string();
        assert!(said.contains("the clouds of 'oak' have no extent"), "{said}");
    }
}

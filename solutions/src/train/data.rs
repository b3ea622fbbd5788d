//! The data set and the split of a run, from its configuration.

use anyhow::{Result, ensure};
use canopy_data::{
    Dataset, TreeRecord,
    split::{self, Shares, Split, species_counts},
};

use super::{Category, Config, Target};

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

/// Training, validation and test set: split by plots, so that all scans of a tree are in the same set. Clouds without
/// extent are in none of them ([`Dataset::degenerate`]); the other clouds are split as if these were there.
///
/// # Errors
/// Returns an error if the data set cannot be split so, or if no cloud of a set or of a species has an extent.
pub fn split(config: &Config, data: &Dataset) -> Result<Split> {
    let mut split = of_all(config, data)?;
    let degenerate = data.degenerate()?;
    if degenerate.is_empty() {
        return Ok(split);
    }
    for (name, part) in [
        ("training", &mut split.train),
        ("validation", &mut split.validation),
        ("test", &mut split.test),
    ] {
        let before = part.len();
        part.retain(|r| !degenerate.contains(r));
        ensure!(
            before == 0 || !part.is_empty(),
            "{}: the {name} set has {before} clouds, all without extent, so it would be empty: add trees, or choose another \
             --seed",
            data.name
        );
    }
    let all: Vec<usize> = (0..data.len()).collect();
    let (whole, flat) = (species_counts(data, &all), species_counts(data, &degenerate));
    for (s, species) in data.species.iter().enumerate() {
        ensure!(
            config.target != Target::Species || flat[s] == 0 || flat[s] < whole[s],
            "{}: the {} clouds of '{species}' have no extent: add trees of it, or choose other --species",
            data.name,
            flat[s]
        );
    }
    Ok(split)
}

/// Without a share for validation no epoch is chosen: scores on plots that also chose the epoch would be too high.
fn of_all(config: &Config, data: &Dataset) -> Result<Split> {
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

    /// 24 trees of two species on 6 plots; those of `flat` have no extent.
    fn set(flat: &[usize]) -> Dataset {
        let record = |i: usize| TreeRecord {
            tree: format!("t{i}"),
            species: i % 2,
            plot: format!("p{}", i / 4),
            ..TreeRecord::default()
        };
        let cloud = |i: usize| match flat.contains(&i) {
            true => Cloud::from_points(vec![[1.0; 3]; 7]),
            false => Cloud::from_points(vec![[1.0; 3], [2.0; 3]]),
        };
        let clouds: Vec<Cloud> = (0..24).map(cloud).collect();
        let species = ["ash", "oak"].map(String::from).to_vec();
        let records = (0..24).map(record).collect();
        Dataset::new("set".into(), species, records, "d".into(), Arc::new(clouds))
    }

    #[test]
    fn clouds_without_extent_are_in_no_part_and_move_no_other_cloud() {
        let config = Config::default();
        let all = split(&config, &set(&[])).unwrap();
        let flat = [all.train[0], all.validation[1], all.test[0]];
        let split = split(&config, &set(&flat)).unwrap();
        for ((_, part), (_, before)) in split.parts().into_iter().zip(all.parts()) {
            assert!(before.iter().filter(|r| !flat.contains(r)).eq(part));
            assert_eq!(part.len() + 1, before.len());
        }
    }

    #[test]
    fn an_empty_part_and_an_empty_species_are_errors() {
        let config = Config::default();
        let validation = split(&config, &set(&[])).unwrap().validation;
        let oaks: Vec<usize> = (0..12).map(|i| 2 * i + 1).collect();
        for (flat, reason) in [
            (validation, "the validation set has 4 clouds, all without extent"),
            (oaks, "the 12 clouds of 'oak' have no extent"),
        ] {
            let said = split(&config, &set(&flat)).unwrap_err().to_string();
            assert!(said.contains(reason), "{said}");
        }
    }
}

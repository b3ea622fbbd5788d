//! From a run's configuration to its data and split.

use std::path::Path;

use anyhow::{Result, ensure};
use canopy_data::{
    Dataset, builtin, cache_folder,
    split::{self, Shares, Split},
};

use super::{BUILTIN, Config, bar};

/// The data that a run is about.
///
/// # Errors
/// A data set that cannot be read, or that has fewer than two species.
pub fn open(config: &Config) -> Result<Dataset> {
    let whole = match config.data.as_str() {
        BUILTIN => grow()?,
        path => canopy_data::open(Path::new(path))?,
    };
    let data = whole.subset(&config.species, config.min_points)?;
    let species = data.species.len();
    ensure!(
        species >= 2,
        "{} has {species} species: telling apart needs at least 2",
        data.name
    );
    Ok(data)
}

/// The built-in forest, from the cache or grown now.
fn grow() -> Result<Dataset> {
    let config = builtin::Config::default();
    let bar = bar(0, "growing the forest");
    let loaded = builtin::load(&config, &cache_folder(), &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let loaded = loaded?;
    if let Some(warning) = loaded.warning {
        eprintln!("note: {warning}");
    }
    Ok(loaded.dataset)
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

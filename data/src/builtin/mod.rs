//! The built-in set: a forest of seven species on fourteen plots, generated and scanned by this program.
//!
//! It needs no download. The same seed gives a bit-identical set on every machine.

mod make;
mod plan;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::{Dataset, shard, species::SPECIES};

pub use make::full_scan;

/// Version of the generator. Any change of its output increments it, so that old caches are not used.
pub const GENERATOR: u32 = 4;

/// Which set to generate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Seed of the forest.
    pub seed: u64,
    /// How many trees; some are scanned twice, so there are more scans.
    pub trees: usize,
    /// Points per scan.
    pub points: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            trees: 840,
            points: 2048,
        }
    }
}

/// The set of `config`, from the cache in `cache_dir` or generated, and a warning for the user if it could not be cached: then
/// the next run generates it again. `progress` is called with (scans done, all scans).
///
/// A cache that is damaged or of another generator is replaced. If it cannot be written (read-only or full disk), the set
/// stays in memory and there is a warning. Several programs may do this at the same time.
///
/// # Errors
/// Returns an error if `config` has no trees or points, or too many.
pub fn load(
    config: &Config,
    cache_dir: &Path,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(Dataset, Option<String>)> {
    ensure!(
        config.trees > 0 && config.points > 0,
        "a set of {config:?} is empty: expected at least one tree and one point"
    );
    ensure!(
        config.trees <= 1_000_000 && config.points <= 100_000,
        "a set of {config:?} is too large to hold"
    );
    let path = cached_at(config, cache_dir);
    if let Ok(dataset) = open(&path) {
        return Ok((dataset, None));
    }
    let made_dir =
        fs::create_dir_all(cache_dir).with_context(|| format!("{}: cannot create", cache_dir.display()));
    // So that two programs do not generate the same set at the same time. On a file system without locks both do, which only
    // wastes time.
    let lock = File::create(path.with_extension("lock")).and_then(|file| file.lock().map(|()| file));
    // Another program may have written it while this one waited for the lock.
    if let Ok(dataset) = open(&path) {
        return Ok((dataset, None));
    }
    if lock.is_ok() {
        // A folder that cannot be removed is reported below.
        let _ = fs::remove_dir_all(&path);
    }
    let dataset = make::make(config, progress)?;
    let written = made_dir.and_then(|()| shard::write(&dataset, meta(config), &path, &mut |_| Ok(())));
    let warning = written.err().map(|e| {
        format!("the built-in set is not kept on disk, so the next run will generate it again: {e:#}")
    });
    drop(lock);
    Ok((dataset, warning))
}

/// The folder of `config` in `dir`. Another configuration or generator has another folder.
fn cached_at(config: &Config, dir: &Path) -> PathBuf {
    let Config { seed, trees, points } = config;
    dir.join(format!("builtin-v{GENERATOR}-seed{seed}-{trees}x{points}"))
}

/// Opens the set at `path`. Returns an error if a file is missing or damaged.
fn open(path: &Path) -> Result<Dataset> {
    let set = shard::open(path)?;
    ensure!(
        shard::digest(&set)? == set.digest,
        "{}: is another set",
        path.display()
    );
    Ok(set)
}

/// The description of the set of `config` in a folder of shards.
pub fn meta(config: &Config) -> shard::Meta {
    shard::Meta {
        name: "builtin".into(),
        species: species_names(),
        licence: String::new(),
        source: format!("canopy's built-in forest, generator {GENERATOR}, {config:?}"),
    }
}

/// The labels, in order.
fn species_names() -> Vec<String> {
    SPECIES.iter().map(|s| s.name.clone()).collect()
}

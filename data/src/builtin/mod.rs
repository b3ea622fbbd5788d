//! The built-in set: a forest of seven species on fourteen plots, grown and scanned by this program.
//!
//! It needs no download, and it is the same, byte for byte, from the same seed on every machine.

mod cache;
mod make;
mod plan;
#[cfg(test)]
mod tests;

pub use plan::{PLOTS, Planned};

use std::{fs, path::Path, sync::Arc};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::{Cloud, CloudSource, Dataset, species::SPECIES};

use cache::Packed;

/// Number of the generator. It grows with any change to what is made, so that no old cache is taken for new.
pub const GENERATOR: u32 = 3;

/// What set to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Another seed, another forest.
    pub seed: u64,
    /// How many trees; some are scanned twice, so there are more scans.
    pub trees: usize,
    /// Points stored for each scan: every scan has as many.
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

/// A set, and what went amiss with its cache without harm to the set.
#[derive(Debug)]
pub struct Loaded {
    /// The set.
    pub dataset: Dataset,
    /// Why the set could not be kept on disk: say it to the user, the next run will make the set anew.
    pub warning: Option<String>,
    /// Whether the set came from the cache.
    pub cached: bool,
}

/// How much of a tree's scan to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// So many points, drawn at random.
    Sampled(usize),
    /// Every point: more than a million.
    Full,
}

impl CloudSource for Packed {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        Packed::cloud(self, index)
    }
}

/// The set of `config`, from the cache in `cache_dir` or made anew; `progress` hears of (scans done, in all).
///
/// # Errors
/// Where `config` asks for nothing. A cache that cannot be used is no error: see [`load`] for its warning.
pub fn dataset(
    config: &Config,
    cache_dir: &Path,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Dataset> {
    Ok(load(config, cache_dir, progress)?.dataset)
}

/// As [`dataset`], and says what became of the cache.
///
/// A cache that is damaged or of another generator is made anew and replaced. One that cannot be written
/// (read-only or full disk) leaves the set in memory with a warning. Safe where several programs start at once.
///
/// # Errors
/// Where `config` asks for nothing.
pub fn load(config: &Config, cache_dir: &Path, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Loaded> {
    ensure!(
        config.trees > 0 && config.points > 0,
        "a set of {config:?} is empty: ask for trees and points"
    );
    ensure!(
        config.trees <= 1_000_000 && config.points <= 100_000,
        "a set of {config:?} is too large to hold"
    );
    let path = cache::path(config, cache_dir);
    if let Ok(packed) = Packed::read(config, &path) {
        return Ok(loaded(packed, None, true));
    }
    let made_dir =
        fs::create_dir_all(cache_dir).with_context(|| format!("{}: cannot make", cache_dir.display()));
    let lock = cache::lock(&path);
    // Another program may have made it while this one waited for the lock.
    if let Ok(packed) = Packed::read(config, &path) {
        return Ok(loaded(packed, None, true));
    }
    if lock.is_some() {
        cache::sweep(&path);
    }
    let packed = Packed::pack(config, make::make(config, progress)?)?;
    let warning = made_dir
        .and_then(|()| packed.write(&path))
        .err()
        .map(|e| format!("the built-in set is not kept on disk, so the next run will make it anew: {e:#}"));
    drop(lock);
    Ok(loaded(packed, warning, false))
}

fn loaded(packed: Packed, warning: Option<String>, cached: bool) -> Loaded {
    let (records, digest) = (packed.records.clone(), packed.digest.clone());
    let dataset = Dataset::new(
        "builtin".into(),
        species_names(),
        records,
        digest,
        Arc::new(packed),
    );
    Loaded {
        dataset,
        warning,
        cached,
    }
}

/// Tree `index` of the forest of `seed`, its first scan; heights are metres above its foot.
///
/// # Errors
/// Where a scan gives too few points, which would be a fault of the scanner.
pub fn tree(seed: u64, index: usize, resolution: Resolution) -> Result<Cloud> {
    match resolution {
        Resolution::Sampled(points) => make::one(seed, index, Some(points)),
        Resolution::Full => make::one(seed, index, None),
    }
}

/// What stands at `index` of the forest of `seed`.
pub fn planned(seed: u64, index: usize) -> Planned {
    plan::tree(seed, index)
}

/// The labels, in order.
pub fn species_names() -> Vec<String> {
    SPECIES.iter().map(|s| s.name.to_owned()).collect()
}

//! The built-in set on disk: a folder of shards, whose clouds are compared with its digest when it is opened.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};

use super::{Config, GENERATOR, meta};
use crate::{Dataset, shard};

/// The folder of `config` in `dir`. Another configuration or generator has another folder.
pub fn path(config: &Config, dir: &Path) -> PathBuf {
    let Config { seed, trees, points } = config;
    dir.join(format!("builtin-v{GENERATOR}-seed{seed}-{trees}x{points}"))
}

/// Opens the set of `config` at `path`.
///
/// # Errors
/// Returns an error if a file is missing, truncated, damaged, or of another configuration.
pub fn open(config: &Config, path: &Path) -> Result<Dataset> {
    let found = shard::Manifest::read(path)?.meta;
    ensure!(
        found == meta(config),
        "{}: expected the set of {config:?}, found {found:?}",
        path.display()
    );
    let set = shard::open(path)?;
    ensure!(
        shard::digest(&set)? == set.digest,
        "{}: its digest does not match its content",
        path.display()
    );
    Ok(set)
}

/// Locks `path` until the result is dropped, so that two programs do not generate the same set at the same time. On a
/// file system without locks both do, which only wastes time.
pub fn lock(path: &Path) -> Option<File> {
    let file = File::create(path.with_extension("lock")).ok()?;
    file.lock().ok()?;
    Some(file)
}

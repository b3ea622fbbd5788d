//! Opens a data set of any kind.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::{
    Dataset,
    import::{self, Options, Plan, Progress},
    shard,
};

/// Clouds with more points are thinned at random when a set is opened as downloaded, so that an epoch does not
/// read gigabytes. It is 32 times what a batch draws of a cloud. `canopy data import` keeps every point.
const MOST_POINTS: usize = 32_768;

/// The folder in which generated and imported sets are kept: `CANOPY_CACHE`, or a folder `canopy` in the user's cache folder.
pub fn cache_folder() -> PathBuf {
    let variable = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    variable("CANOPY_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|p| p.join("canopy")))
        .or_else(|| variable("LOCALAPPDATA").map(|p| p.join("canopy")))
        .or_else(|| variable("HOME").map(|p| p.join(".cache").join("canopy")))
        .unwrap_or_else(|| env::temp_dir().join("canopy"))
}

/// Opens the data set at `path`: a folder of shards, or a layout that [`import::detect`] knows, which is imported once
/// and kept in the folder `cache`. `print` is called with each line for the user.
///
/// # Errors
/// Returns an error if no layout is recognised (with what was expected) or files are damaged (each by name), or the error
/// of `progress`.
pub fn open(path: &Path, cache: &Path, print: &mut dyn FnMut(&str), progress: Progress) -> Result<Dataset> {
    if is_shards(path) {
        return shard::open(path);
    }
    let options = Options {
        max_points: Some(MOST_POINTS),
        ..Options::default()
    };
    let kind = import::detect(path)?;
    let plan = import::plan(kind, path, &options)?;
    let kept = cache.join(format!("{}-{}", plan.name, key(path, kind.name, &plan, &options)));
    if is_shards(&kept) {
        match shard::open(&kept) {
            Ok(data) => return Ok(data),
            Err(e) => print(&format!("{}: imported again because {e:#}", path.display())),
        }
    }
    let (at, trees, species) = (path.display(), plan.trees(), plan.species.len());
    let (name, to) = (kind.name, kept.display());
    print(&format!(
        "{at}: recognised as {name}, {trees} trees of {species} species; imported once into {to}"
    ));
    plan.notes.iter().for_each(|note| print(&format!("  {note}")));
    let (report, _) = import::to_shards(plan, kind, &options, &kept, progress)
        .with_context(|| format!("importing {at}"))?;
    for warning in report.warnings() {
        print(&format!("  warning: {warning}"));
    }
    if report.thinned > 0 {
        print(&format!(
            "  {} clouds thinned to {MOST_POINTS} points; `canopy data import` keeps all",
            report.thinned
        ));
    }
    shard::open(&kept)
}

fn is_shards(path: &Path) -> bool {
    path.join("dataset.json").is_file()
}

/// A key that changes with the files, their sizes and times, and the options, so that the cache is never outdated.
fn key(path: &Path, kind: &str, plan: &Plan, options: &Options) -> String {
    let mut hash = Sha256::new();
    let home = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    hash.update(format!("1 {home:?} {kind} {options:?} {:?}", plan.species));
    let mut table = vec![path.to_owned()];
    table.extend(plan.files().map(Path::to_owned));
    for file in table {
        let meta = fs::metadata(&file).ok();
        let time = meta.as_ref().and_then(|m| m.modified().ok());
        let time = time.and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        hash.update(format!("{file:?} {:?} {time:?}", meta.map(|m| m.len())));
    }
    // Labels of tables and shapefiles, which may change while no point file does.
    for record in plan.records() {
        hash.update(format!("{record:?}"));
    }
    hash.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

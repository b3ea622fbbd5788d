//! Opens whatever data set lies at a path.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::{
    Dataset,
    import::{self, Kind, Options, Plan, Progress},
    shard,
};

/// Clouds of more points are thinned at random when a set is opened as downloaded, so that an epoch does not
/// read gigabytes: 32 times what a batch draws of a cloud. `canopy data import` keeps every point.
pub const MOST_POINTS: usize = 32_768;

/// How [`open`] imports a set that is not in shards yet.
pub struct Opening<'a> {
    /// What to take of it.
    pub options: Options,
    /// Where the import is kept.
    pub cache: PathBuf,
    /// Called with what the user should know, a line each time.
    pub tell: &'a mut dyn FnMut(&str),
    /// Called as trees are read; its error stops the import.
    pub progress: &'a mut dyn FnMut(Progress) -> Result<()>,
}

/// The data set at `path`: a folder of shards, or a layout that [`import::detect`] knows, which is imported once
/// and kept in the opening's cache.
///
/// # Errors
/// Nothing recognised (says what was expected); damaged files, each by name; what the progress gives.
pub fn open(path: &Path, opening: Opening) -> Result<Dataset> {
    if is_shards(path) {
        return shard::open(path);
    }
    let Opening {
        options,
        cache,
        tell,
        progress,
    } = opening;
    let kind = import::detect(path)?;
    let plan = import::plan(kind, path, &options)?;
    let kept = cache.join(format!("{}-{}", plan.name, key(path, kind, &plan, &options)));
    if is_shards(&kept) {
        match shard::open(&kept) {
            Ok(data) => return Ok(data),
            Err(e) => tell(&format!("{}: imported again, for {e:#}", path.display())),
        }
    }
    tell(&format!(
        "{}: recognised as {kind}, {} trees of {} species; imported once into {}",
        path.display(),
        plan.trees(),
        plan.species.len(),
        kept.display()
    ));
    plan.notes.iter().for_each(|note| tell(&format!("  {note}")));
    let (report, _) = import::to_shards(plan, kind, &options, &kept, progress)
        .with_context(|| format!("importing {}", path.display()))?;
    if let (true, Some(most)) = (report.thinned > 0, options.max_points) {
        tell(&format!(
            "  {} clouds thinned to {most} points; `canopy data import` keeps all",
            report.thinned
        ));
    }
    shard::open(&kept)
}

fn is_shards(path: &Path) -> bool {
    path.join("dataset.json").is_file()
}

/// Changes where the files, their sizes or times, or the options change; so a cache never shows old data.
fn key(path: &Path, kind: Kind, plan: &Plan, options: &Options) -> String {
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
    // What a table or a shapefile said, which no point file's time tells.
    for record in plan.records() {
        hash.update(format!("{record:?}"));
    }
    let mut hex = String::new();
    for byte in &hash.finalize()[..8] {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

//! Opens any data set and shows the progress.

use std::path::{Path, PathBuf};

use anyhow::Result;
use canopy_data::{Dataset, TreeRecord, builtin, cache_folder};

use super::progress::Progress;
use crate::train::BUILTIN;

/// Names a copy of the data set on the fast storage of a job's node. The job scripts of `slurm` set it, so that a run records
/// the path of the original and can be resumed elsewhere.
const COPY: &str = "CANOPY_DATA_COPY";

/// Clouds without extent that are named; the others are counted.
const NAMED: usize = 10;

/// The data set at `path`, or the built-in one.
pub fn any(path: &Path) -> Result<Dataset> {
    if path == Path::new(BUILTIN) {
        return grown(&builtin::Config::default());
    }
    let copy = std::env::var_os(COPY).map(PathBuf::from);
    let path = match &copy {
        // Another data set, such as one that is compared with it, is read from its own path.
        Some(copy) if copy.file_name() == path.file_name() => copy,
        _ => path,
    };
    let progress = Progress::new("importing");
    canopy_data::open(
        path,
        &cache_folder(),
        &mut |line| note!("{line}"),
        &mut |done, total| progress.at(done, total),
    )
}

/// Warns of the clouds `degenerate` of `data`, which have no extent: no command trains on them or evaluates them. Those that
/// the options leave out anyway are not named: of other species than `species`, or with fewer than `min_points`.
pub fn warn_of_degenerate(
    data: &Dataset,
    degenerate: &[usize],
    species: &[String],
    min_points: usize,
) -> Result<()> {
    let mut named = Vec::new();
    for &i in degenerate {
        let cloud = data.cloud(i)?;
        if cloud.len() >= min_points && species.contains(&data.species[data.records[i].species]) {
            named.push((&data.records[i], cloud));
        }
    }
    for (TreeRecord { tree, source, .. }, cloud) in named.iter().take(NAMED) {
        if let Err(e) = cloud.check_extent() {
            note!("warning: tree {tree} ({source}) is left out: {e}");
        }
    }
    if named.len() > NAMED {
        let more = named.len() - NAMED;
        note!("warning: {more} more clouds without extent are left out; `canopy data import` names all");
    }
    Ok(())
}

/// A forest from the cache or generated.
pub fn grown(config: &builtin::Config) -> Result<Dataset> {
    let bar = crate::train::bar(0, "growing the forest");
    let loaded = builtin::load(config, &cache_folder(), &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let (data, warning) = loaded?;
    if let Some(warning) = warning {
        note!("warning: {warning}");
    }
    Ok(data)
}

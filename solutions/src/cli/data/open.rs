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
        &mut |line| eprintln!("{line}"),
        &mut |done, total| progress.at(done, total),
    )
}

/// Warns of the clouds `degenerate` of `data`, which have no extent: no command trains on them or evaluates them.
pub fn warn_of_degenerate(data: &Dataset, degenerate: &[usize]) -> Result<()> {
    for &i in degenerate.iter().take(NAMED) {
        let TreeRecord { tree, source, .. } = &data.records[i];
        if let Err(e) = data.cloud(i)?.check_extent() {
            eprintln!("warning: tree {tree} ({source}) is left out: {e}");
        }
    }
    if degenerate.len() > NAMED {
        let more = degenerate.len() - NAMED;
        eprintln!("warning: {more} more clouds without extent are left out; `canopy data import` names all");
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
        eprintln!("warning: {warning}");
    }
    Ok(data)
}

//! Opens any data set with a progress, and writes small files whole or not at all.

use std::{io::Write, path::Path};

use anyhow::{Context, Result};
use canopy_data::{Dataset, MOST_POINTS, Opening, builtin, cache_folder, import::Options, open_with};

use super::progress::{Progress, Unit};

/// The data set at `path`, or the built-in one.
pub fn any(path: &Path) -> Result<Dataset> {
    if path == Path::new("builtin") && !path.exists() {
        return grown(&builtin::Config::default());
    }
    let mut progress = Progress::new("importing", Unit::Things);
    open_with(
        path,
        Opening {
            options: Options {
                max_points: Some(MOST_POINTS),
                ..Options::default()
            },
            cache: cache_folder(),
            tell: &mut |line| eprintln!("{line}"),
            progress: &mut |p| progress.at(p.done as u64, Some(p.total as u64)),
        },
    )
}

/// The built-in forest, from the cache or grown now.
pub fn grown(config: &builtin::Config) -> Result<Dataset> {
    let bar = crate::train::bar(0, "growing the forest");
    let loaded = builtin::load(config, &cache_folder(), &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let loaded = loaded?;
    if let Some(warning) = loaded.warning {
        eprintln!("warning: {warning}");
    }
    Ok(loaded.dataset)
}

/// Writes `bytes` to `path` beside its name first.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let parent = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // Readable as any other file, not by its owner alone as temporary ones are.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.prefix(".canopy-").tempfile_in(parent)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

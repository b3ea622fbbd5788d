//! Files that are either the old ones or the new ones, never half of each.

use std::{fs, io::Write, path::Path};

use anyhow::{Context, Result};

/// Writes `bytes` to `path` so that a reader, or a machine that loses power, finds the old file or the
/// new one: to a temporary file beside it, synced, then renamed.
///
/// # Errors
/// Names the file, with the system's reason (disk full, read-only); the old file is untouched then.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let attempt = || -> Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".saving-")
            .suffix(".tmp")
            .tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        // The rename itself must reach the disk too; where folders cannot be synced this is best effort.
        if let Ok(dir) = fs::File::open(folder) {
            let _ = dir.sync_all();
        }
        Ok(())
    };
    attempt().with_context(|| {
        format!(
            "{} could not be written; what stood there before is unharmed",
            path.display()
        )
    })
}

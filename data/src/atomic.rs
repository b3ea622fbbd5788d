//! Files that are either the old ones or the new ones, never half of each.

use std::{fs, io::Write, path::Path};

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// A temporary file beside `path`, on the same disk so that it can be renamed to it, and with the
/// permissions of any new file. Dropped without `persist`, it is gone.
///
/// # Errors
/// The system's: no such folder, read-only, full.
pub fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-").suffix(".tmp");
    // A temporary file is its owner's alone unless told otherwise; what it becomes is a file like any other.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Writes `bytes` to `path` so that a reader, or a machine that loses power, finds the old file or the new
/// one whole.
///
/// # Errors
/// Names the file, with the system's reason (disk full, read-only); the old file is untouched then.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let attempt = || -> Result<()> {
        let mut file = beside(path)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        // The rename itself must reach the disk too; where folders cannot be synced this is best effort.
        if let Some(folder) = path.parent().and_then(|p| fs::File::open(p).ok()) {
            let _ = folder.sync_all();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let e = format!("{:#}", write(&dir.path().join("no/a.txt"), b"").unwrap_err());
        assert!(e.contains("a.txt") && e.contains("could not be written"), "{e}");
    }
}

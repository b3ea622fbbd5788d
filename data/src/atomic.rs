//! Atomic writes: a reader finds the old file or the new one, never a part of either.

use std::{fs, io::Write, path::Path};

use anyhow::{Context, Result};
use tempfile::{NamedTempFile, TempDir};

/// The folder of `path`.
pub fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Creates the folder `to` atomically: `fill` writes its files into a temporary folder beside it, which is then renamed. An
/// empty folder of that name is replaced.
///
/// # Errors
/// Returns the error of `fill`, or names the folder that cannot be created; no file is left then.
pub fn folder<T>(to: &Path, fill: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let temp = folder_beside(to)?;
    let done = fill(temp.path())?;
    let made = temp.keep();
    // Fails if there is no such folder, or if it has files; then the rename fails too.
    let _ = fs::remove_dir(to);
    if let Err(e) = fs::rename(&made, to) {
        let _ = fs::remove_dir_all(&made);
        return Err(e).with_context(|| format!("cannot rename the finished folder to {}", to.display()));
    }
    Ok(done)
}

/// Creates a temporary folder beside `path`, whose folder is created too. If it is dropped, it is deleted.
pub(crate) fn folder_beside(path: &Path) -> Result<TempDir> {
    let parent = parent(path);
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    tempfile::Builder::new()
        .prefix(".canopy-")
        .tempdir_in(parent)
        .with_context(|| format!("cannot write in {}", parent.display()))
}

/// Creates a temporary file in the folder of `path`, with the permissions of any new file. `persist` renames it to
/// `path`; if it is dropped before, it is deleted.
///
/// # Errors
/// Returns the operating system's error: no such folder, read-only, disk full.
pub fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let prefix = format!(".{}-", path.file_stem().unwrap_or_default().to_string_lossy());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    // By default only its owner could read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(parent(path))
}

/// Writes `bytes` to `path` atomically: a reader finds the old file or the whole new one, also after a power failure.
///
/// # Errors
/// Names the file and the operating system's reason (disk full, read-only). The old file is then unchanged.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let attempt = || -> Result<()> {
        let mut file = beside(path)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        // The rename must reach the disk too. Not every system can sync a folder.
        if let Some(folder) = path.parent().and_then(|p| fs::File::open(p).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    };
    attempt().with_context(|| {
        format!(
            "{} could not be written; an older file of this name is unchanged",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_no_other_file_remains_and_a_missing_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let e = format!("{:#}", write(&dir.path().join("no/a.txt"), b"").unwrap_err());
        assert!(e.contains("a.txt") && e.contains("could not be written"), "{e}");
    }
}

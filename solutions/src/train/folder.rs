//! A run's folder: what lies in it, and that only one program writes there at a time.
//!
//! ```text
//! config.toml               the effective configuration
//! metrics.jsonl             a line an epoch
//! events.out.tfevents.*     the same for TensorBoard
//! last.safetensors          where the run stands; what `--resume` goes on from
//! best.safetensors          the weights of the best epoch
//! evaluation.json           scores on the plots kept for the test
//! predictions.csv           a line a test cloud
//! report.html               all of it as one page
//! ```

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use canopy_data::atomic;

use crate::report::EpochRow;

/// An open run folder; locked until dropped, but for [`RunFolder::of_another`].
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// None where another program writes: this one does not.
    lock: Option<File>,
}

impl RunFolder {
    /// The file that holds the best weights.
    pub const BEST: &str = "best.safetensors";

    /// Makes a new folder for a run. An existing one must be empty.
    ///
    /// # Errors
    /// Names the folder: it holds a run, another program writes there, it cannot be made.
    pub fn create(path: &Path) -> Result<Self> {
        fs::create_dir_all(path)
            .with_context(|| format!("the run folder {} cannot be made", path.display()))?;
        let folder = Self::lock(path)?;
        if folder.last().exists() || folder.metrics().exists() {
            bail!(
                "{} holds a run already: go on with it by `canopy train --resume {}`, or name another folder with --out",
                path.display(),
                path.display()
            );
        }
        Ok(folder)
    }

    /// Opens the folder of a run to go on with.
    ///
    /// # Errors
    /// Names the folder: it is not there, or another program writes there.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            bail!(
                "there is no run folder {}: `ls runs` shows those that are",
                path.display()
            );
        }
        Self::lock(path)
    }

    /// The folder of a run that another process writes to, rank 0's: this one only reads.
    pub fn of_another(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            lock: None,
        }
    }

    fn lock(path: &Path) -> Result<Self> {
        let name = path.join(".lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&name)
            .with_context(|| format!("{} cannot be written to", path.display()))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                lock: Some(lock),
            }),
            Err(fs::TryLockError::WouldBlock) => {
                bail!(
                    "another canopy is writing in {}: wait for it, or name another folder with --out",
                    path.display()
                )
            }
            // Some network file systems know no locks: better unguarded than not at all.
            Err(fs::TryLockError::Error(_)) => Ok(Self {
                path: path.to_owned(),
                lock: Some(lock),
            }),
        }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `last.safetensors`.
    pub fn last(&self) -> PathBuf {
        self.path.join("last.safetensors")
    }

    /// `best.safetensors`.
    pub fn best(&self) -> PathBuf {
        self.path.join(Self::BEST)
    }

    fn metrics(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }

    /// Writes a small file of the folder atomically.
    ///
    /// # Errors
    /// Names the file.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        atomic::write(&self.path.join(name), text.as_bytes())
    }

    /// Adds a line to `metrics.jsonl`.
    ///
    /// # Errors
    /// Names the file.
    pub fn append(&self, row: &EpochRow) -> Result<()> {
        let path = self.metrics();
        let line = serde_json::to_string(row)? + "\n";
        let write = || {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(&path)?
                .write_all(line.as_bytes())
        };
        write().with_context(|| format!("{} cannot be added to", path.display()))
    }

    /// The epochs written down so far, up to `epoch`; later ones, and a line cut off by a kill, are
    /// dropped from the file, because the run goes on from `epoch` and will write them again.
    ///
    /// # Errors
    /// Names the file and the line that is not a row.
    pub fn rewind(&self, epoch: usize) -> Result<Vec<EpochRow>> {
        let path = self.metrics();
        let text = match fs::read_to_string(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.with_context(|| format!("{} cannot be read", path.display()))?,
        };
        // Lines are kept as they stand: reading a number and writing it again may change its last digit.
        let (mut rows, mut kept) = (Vec::new(), String::new());
        for (i, line) in text.split_inclusive('\n').enumerate() {
            if !line.ends_with('\n') {
                break;
            }
            let row: EpochRow = serde_json::from_str(line)
                .with_context(|| format!("{}, line {}: not an epoch's row", path.display(), i + 1))?;
            if row.epoch <= epoch {
                rows.push(row);
                kept.push_str(line);
            }
        }
        if kept != text && self.lock.is_some() {
            atomic::write(&path, kept.as_bytes())?;
        }
        Ok(rows)
    }
}

/// A name for a new run that is not taken yet: `parent/name`, `parent/name-2`, …
pub fn free_name(parent: &Path, name: &str) -> PathBuf {
    let first = parent.join(name);
    let numbered = (2..).map(|i| parent.join(format!("{name}-{i}")));
    std::iter::once(first)
        .chain(numbered)
        .find(|p| !p.exists())
        .unwrap_or_else(|| parent.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(epoch: usize) -> EpochRow {
        EpochRow {
            epoch,
            train_loss: 0.1 + epoch as f64 / 3.0,
            ..EpochRow::default()
        }
    }

    #[test]
    fn rewinding_drops_later_epochs_and_a_line_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunFolder::create(&dir.path().join("r")).unwrap();
        (1..=5).for_each(|e| run.append(&row(e)).unwrap());
        let path = run.metrics();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"epoch\":6,\"st")).unwrap();
        assert_eq!(run.rewind(3).unwrap(), (1..=3).map(row).collect::<Vec<_>>());
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
    }

    #[test]
    fn a_damaged_row_is_named_by_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunFolder::create(&dir.path().join("r")).unwrap();
        fs::write(run.metrics(), "nonsense\n").unwrap();
        let e = format!("{:#}", run.rewind(3).unwrap_err());
        assert!(e.contains("metrics.jsonl, line 1"), "{e}");
    }

    #[test]
    fn two_runs_in_one_folder_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let first = RunFolder::create(dir.path()).unwrap();
        let e = RunFolder::create(dir.path()).unwrap_err().to_string();
        assert!(e.contains("another canopy is writing"), "{e}");
        first.append(&row(1)).unwrap();
        drop(first);
        let e = RunFolder::create(dir.path()).unwrap_err().to_string();
        assert!(e.contains("--resume"), "{e}");
        RunFolder::open(dir.path()).unwrap();
    }

    #[test]
    fn free_names_count_up() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_name(dir.path(), "quick").ends_with("quick"));
        fs::create_dir(dir.path().join("quick")).unwrap();
        assert!(free_name(dir.path(), "quick").ends_with("quick-2"));
    }
}

//! A run's folder: its files, and a lock so that only one process writes to it.
//!
//! ```text
//! config.toml               the effective configuration
//! metrics.jsonl             one line per epoch
//! events.out.tfevents.*     the same for TensorBoard
//! last.safetensors          the latest checkpoint, which `--resume` continues from
//! best.safetensors          the weights of the best epoch
//! evaluation.json           scores on the test set
//! predictions.csv           one line per test cloud
//! report.html               all of it as one page
//! ```

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use canopy_data::atomic;

use super::EpochRow;

/// An open run folder, locked until dropped, except [`RunFolder::of_another`].
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// `None` if another process writes to the folder, and this one does not.
    lock: Option<File>,
}

impl RunFolder {
    /// The file with the latest checkpoint.
    pub const LAST: &str = "last.safetensors";
    /// The file with the best weights.
    pub const BEST: &str = "best.safetensors";
    /// The file with the effective configuration.
    pub const CONFIG: &str = "config.toml";

    /// Creates the folder of a new run. An existing folder must not contain a checkpoint. Without one, a
    /// run cannot be resumed, so its metrics and TensorBoard's events are removed.
    ///
    /// # Errors
    /// Names the folder: it contains a run, another process writes to it, or it cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = Self::lock(path)?;
        if folder.last().exists() {
            let run = path.display();
            bail!(
                "{run} already contains a run: resume it with `canopy train --resume {run}`, or choose another folder with \
                 --out"
            );
        }
        folder.without_metrics()
    }

    /// Opens the folder of a run to resume it, or creates it if it has no checkpoint. `None` if another process writes to it.
    ///
    /// # Errors
    /// Names the folder if it cannot be created or written to.
    pub fn claim(path: &Path) -> Result<Option<Self>> {
        match Self::try_lock(path)? {
            Some(folder) if folder.last().exists() => Ok(Some(folder)),
            Some(folder) => folder.without_metrics().map(Some),
            None => Ok(None),
        }
    }

    /// Removes the metrics and TensorBoard's events of a run that saved no checkpoint.
    fn without_metrics(self) -> Result<Self> {
        let named = || format!("the run folder {} cannot be created", self.path.display());
        for entry in fs::read_dir(&self.path).with_context(named)? {
            let path = entry.with_context(named)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path == self.metrics() || name.starts_with("events.out.tfevents.") {
                fs::remove_file(&path).with_context(named)?;
            }
        }
        Ok(self)
    }

    /// Opens the folder of a run to resume it.
    ///
    /// # Errors
    /// Names the folder: it does not exist, has no checkpoint yet, or another process writes to it.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            bail!("there is no run folder {}: `ls runs` lists runs", path.display());
        }
        let folder = Self::lock(path)?;
        if !folder.last().exists() {
            let run = path.display();
            let weights = match folder.best().exists() {
                true => format!(". {run}/{} has weights for eval and predict", Self::BEST),
                false => String::new(),
            };
            bail!(
                "{run} has no checkpoint: the run ended before it saved one (see --checkpoint-seconds). Start it again with \
                 `canopy train --config {run}/{} --out {run}`{weights}",
                Self::CONFIG
            );
        }
        Ok(folder)
    }

    /// The folder of a run that another process, rank 0, writes to: this process only reads.
    pub fn of_another(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            lock: None,
        }
    }

    fn lock(path: &Path) -> Result<Self> {
        Self::try_lock(path)?.with_context(|| {
            format!(
                "another canopy writes to {}: wait until it exits, or choose another folder with --out",
                path.display()
            )
        })
    }

    /// Creates the folder and locks it; `None` if another process writes to it.
    fn try_lock(path: &Path) -> Result<Option<Self>> {
        fs::create_dir_all(path)
            .with_context(|| format!("the run folder {} cannot be created", path.display()))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(".lock"))
            .with_context(|| format!("{} is not writable", path.display()))?;
        // Some network file systems have no locks: training without one is better than not training.
        let in_use = matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock));
        Ok((!in_use).then(|| Self {
            path: path.to_owned(),
            lock: Some(lock),
        }))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `last.safetensors`.
    pub fn last(&self) -> PathBuf {
        self.path.join(Self::LAST)
    }

    /// `best.safetensors`.
    pub fn best(&self) -> PathBuf {
        self.path.join(Self::BEST)
    }

    /// `metrics.jsonl`; it does not exist before the first epoch ends.
    pub fn metrics(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }

    /// Writes a small file of the folder atomically.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        atomic::write(&self.path.join(name), text.as_bytes())
    }

    /// Appends a line to `metrics.jsonl`.
    pub fn append(&self, row: &EpochRow) -> Result<()> {
        let path = self.metrics();
        let line = serde_json::to_string(row)? + "\n";
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.with_context(|| format!("{} cannot be appended to", path.display()))
    }

    /// The epochs logged so far, up to `epoch`. Later ones, and a line that a kill truncated, are removed from the file,
    /// because the resumed run will write them again.
    ///
    /// # Errors
    /// Names the file and the line that cannot be parsed.
    pub fn rewind(&self, epoch: usize) -> Result<Vec<EpochRow>> {
        let path = self.metrics();
        let text = match fs::read_to_string(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.with_context(|| format!("{} cannot be read", path.display()))?,
        };
        // Lines are copied as text: parsing a number and printing it may change its last digit.
        let (mut rows, mut kept) = (Vec::new(), String::new());
        for (i, line) in text.split_inclusive('\n').enumerate() {
            if !line.ends_with('\n') {
                break;
            }
            let row: EpochRow = serde_json::from_str(line)
                .with_context(|| format!("{}, line {}: not the row of an epoch", path.display(), i + 1))?;
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

/// The first path of `parent/name`, `parent/name-2`, … that does not exist.
pub fn free_name(parent: &Path, name: &str) -> PathBuf {
    let mut path = parent.join(name);
    for i in 2.. {
        if !path.exists() {
            break;
        }
        path = parent.join(format!("{name}-{i}"));
    }
    path
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
    fn rewinding_removes_later_epochs_and_a_truncated_line_and_names_a_damaged_row() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunFolder::create(&dir.path().join("r")).unwrap();
        (1..=5).for_each(|e| run.append(&row(e)).unwrap());
        let path = run.metrics();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"epoch\":6,\"st")).unwrap();
        assert_eq!(run.rewind(3).unwrap(), (1..=3).map(row).collect::<Vec<_>>());
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
        fs::write(&path, "nonsense\n").unwrap();
        let e = format!("{:#}", run.rewind(3).unwrap_err());
        assert!(e.contains("metrics.jsonl, line 1"), "{e}");
    }

    #[test]
    fn a_folder_that_is_locked_or_has_a_checkpoint_is_refused_and_one_without_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        let refused = |opened: Result<RunFolder>, part: &str| {
            let e = opened.unwrap_err().to_string();
            assert!(e.contains(part), "{e}");
            e
        };
        let first = RunFolder::create(path).unwrap();
        refused(RunFolder::create(path), "another canopy writes");
        first.append(&row(1)).unwrap();
        fs::write(path.join("events.out.tfevents.1.canopy"), b"").unwrap();
        drop(first);
        let none = refused(RunFolder::open(path), "before it saved one");
        assert!(!none.contains("eval"), "{none}");
        fs::write(path.join(RunFolder::BEST), b"").unwrap();
        refused(RunFolder::open(path), "best.safetensors has weights for eval");
        fs::remove_file(path.join(RunFolder::BEST)).unwrap();
        let second = RunFolder::create(path).unwrap();
        assert_eq!(second.rewind(9).unwrap(), []);
        let names = fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), [".lock"]);
        fs::write(second.last(), b"").unwrap();
        drop(second);
        refused(RunFolder::create(path), "--resume");
        RunFolder::open(path).unwrap();
    }

    #[test]
    fn a_free_name_is_numbered_from_2() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_name(dir.path(), "quick").ends_with("quick"));
        fs::create_dir(dir.path().join("quick")).unwrap();
        assert!(free_name(dir.path(), "quick").ends_with("quick-2"));
    }
}

//! The clouds that `canopy predict` reads: point files, and the scans of data sets.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use canopy_data::{
    Cloud, CloudSource, Dataset, TreeRecord,
    formats::{self, Format},
    import,
};

use crate::{
    cli::data::open,
    train::{BUILTIN, Config, Target},
};

/// One cloud of a data set. Point files are a set without species.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its source within the data set, or its file.
    pub name: String,
    /// Its species, if that is known.
    pub label: Option<String>,
    data: Arc<Dataset>,
    index: usize,
}

/// Point files.
#[derive(Debug)]
struct Files(Vec<PathBuf>);

impl CloudSource for Files {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        formats::read(&self.0[index])
    }
}

impl Input {
    /// The true value of `target`, if it is from a data set that knows it.
    pub fn truth(&self, target: Target) -> Option<f64> {
        target.value(self.record().inventory.as_ref()?)
    }

    /// The combination of the cloud's categories that the network of `config` expects; none if it expects none.
    ///
    /// # Errors
    /// Returns an error if they are unknown: those of a point file are.
    pub fn category(&self, config: &Config) -> Result<Option<u32>> {
        if config.categories.is_empty() {
            return Ok(None);
        }
        ensure!(
            self.label.is_some(),
            "{}: the run was trained with --categories, which a point file does not contain: give a data set",
            self.name
        );
        config.category_of(self.record()).map(Some)
    }

    fn record(&self) -> &TreeRecord {
        &self.data.records[self.index]
    }

    /// Reads the cloud.
    ///
    /// # Errors
    /// Names the file and the place that could not be read.
    pub fn cloud(&self) -> Result<Cloud> {
        self.data.cloud(self.index)
    }
}

/// The clouds of all `paths`, in their order.
///
/// # Errors
/// Returns an error for a folder without clouds, and for a data set that cannot be opened. A file that cannot be read is
/// found only when its cloud is read.
pub fn all(paths: &[PathBuf]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        if is_set(path)? {
            inputs.extend(of_set(open::any(path)?));
            continue;
        }
        let files = match path.is_dir() {
            true => point_files(path)?,
            false => vec![path.clone()],
        };
        ensure!(
            !files.is_empty(),
            "{}: expected a data set, or a folder of .las, .laz, .xyz, .pts, .txt, .csv or .asc files",
            path.display()
        );
        let record = |file: &PathBuf| TreeRecord {
            source: file.display().to_string(),
            ..TreeRecord::default()
        };
        let records = files.iter().map(record).collect();
        let files = Arc::new(Files(files));
        inputs.extend(of_set(Dataset::new(
            String::new(),
            Vec::new(),
            records,
            String::new(),
            files,
        )));
    }
    Ok(inputs)
}

/// Whether `path` is a data set that `canopy train --data` takes.
fn is_set(path: &Path) -> Result<bool> {
    if path == Path::new(BUILTIN) || path.join("dataset.json").is_file() {
        return Ok(true);
    }
    if path.is_file() {
        return Ok(import::is_table(path));
    }
    // Point files directly in a folder are scans to predict, whatever its sub-folders are.
    Ok(match import::detect(path) {
        Ok(kind) if kind.name == "folder" => point_files(path)?.is_empty(),
        Ok(_) => true,
        Err(_) => false,
    })
}

/// The point files directly in `folder`, sorted.
fn point_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let list =
        fs::read_dir(folder).with_context(|| format!("{}: cannot list this folder", folder.display()))?;
    let mut files: Vec<PathBuf> = list.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?;
    files.retain(|p| p.is_file() && Format::from_path(p).is_some() && !import::is_table(p));
    files.sort();
    Ok(files)
}

fn of_set(data: Dataset) -> Vec<Input> {
    let data = Arc::new(data);
    let input = |(i, record): (usize, &TreeRecord)| Input {
        name: match record.source.as_str() {
            "" => record.tree.clone(),
            source => source.to_owned(),
        },
        label: data.species.get(record.species).cloned(),
        data: data.clone(),
        index: i,
    };
    data.records.iter().enumerate().map(input).collect()
}

//! One scan of one tree, in four formats, and a data set over each.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Result;
use canopy::{loader::Collate, train::short};
use canopy_data::{Cloud, CloudSource, Dataset, TreeRecord, builtin, formats, shard};

/// Points of the scan, at most.
const POINTS: usize = 100_000;
/// Points of each cloud in a batch.
const WANTED: usize = 1024;

/// The formats, and the file of each; a shard is a folder.
pub type Files = [(&'static str, PathBuf); 4];

pub fn write(home: &Path, seed: u64) -> Result<Files> {
    let whole = builtin::full_scan(seed, 0)?;
    let points = whole.len().min(POINTS);
    // Evenly strided: all of the tree, less densely.
    let kept: Vec<usize> = (0..points).map(|i| i * whole.len() / points).collect();
    let cloud = whole.select(&kept);
    let paths = [
        ("text", "tree.xyz"),
        ("LAZ", "tree.laz"),
        ("LAS", "tree.las"),
        ("shard", "shard"),
    ]
    .map(|(format, name)| (format, home.join(name)));
    let [files @ .., (_, folder)] = &paths;
    for (_, path) in files {
        formats::write(path, &cloud, &formats::Options::default())?;
    }
    let meta = shard::Meta {
        species: vec!["tree".into()],
        ..shard::Meta::default()
    };
    let mut shard = shard::Writer::create(folder, meta)?;
    shard.push(&TreeRecord::default(), &cloud)?;
    shard.finish()?;
    Ok(paths)
}

/// Collates batches of `count` clouds that are all this file.
pub fn collate(path: &Path, count: usize) -> Collate {
    let data = Dataset::new(
        path.display().to_string(),
        ["tree", "shrub"].map(String::from).to_vec(),
        vec![TreeRecord::default(); count],
        String::new(),
        Arc::new(File(path.to_owned())),
    );
    short::small(WANTED, 1).collate(data)
}

#[derive(Debug)]
struct File(PathBuf);

impl CloudSource for File {
    fn cloud(&self, _: usize) -> Result<Cloud> {
        match self.0.is_dir() {
            true => shard::open(&self.0)?.cloud(0),
            false => formats::read(&self.0),
        }
    }
}

//! Trees of the built-in forest, in memory and as text files.

use std::{fmt::Write as _, fs, path::PathBuf, sync::Arc};

use anyhow::{Context, Result};
use canopy::{loader::Collate, train::short};
use canopy_data::{Cloud, CloudSource, Dataset};
use tempfile::TempDir;

/// Trees that are trained on.
pub const TREES: usize = 64;
/// Points that are kept of each cloud in memory; a batch draws 256 of them.
const KEPT: usize = 2048;

/// The same trees from two sources: sub-sampled once and kept in memory, and all their points in text files.
pub struct Sources {
    pub memory: Dataset,
    pub text: Dataset,
    pub seed: u64,
    _folder: TempDir,
}

/// One file a tree, a point a line.
#[derive(Debug)]
struct Text(Vec<PathBuf>);

impl CloudSource for Text {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        canopy_data::formats::read(&self.0[index])
    }
}

impl Sources {
    /// Strides through the built-in forest, so that every species is among the trees. The folder with the text files is
    /// removed with the value.
    pub fn open(seed: u64) -> Result<Self> {
        let all = short::built_in()?;
        let every = (all.len() / TREES).max(1);
        let taken: Vec<usize> = (0..all.len()).step_by(every).take(TREES).collect();
        let clouds = taken.iter().map(|&i| all.cloud(i)).collect::<Result<Vec<_>>>()?;
        let folder = tempfile::tempdir().context("a folder for text files cannot be created")?;
        let mut files = Vec::new();
        for (i, cloud) in clouds.iter().enumerate() {
            let mut text = String::new();
            for [x, y, z] in &cloud.xyz {
                let _ = writeln!(text, "{x:.3} {y:.3} {z:.3}");
            }
            let path = folder.path().join(format!("tree{i}.xyz"));
            fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
            files.push(path);
        }
        let clouds: Vec<Cloud> = clouds.iter().map(subsampled).collect();
        let records: Vec<_> = taken.iter().map(|&i| all.records[i].clone()).collect();
        let set = |source: Arc<dyn CloudSource>| {
            Dataset::new(
                "forest".into(),
                all.species.clone(),
                records.clone(),
                String::new(),
                source,
            )
        };
        Ok(Self {
            memory: set(Arc::new(clouds)),
            text: set(Arc::new(Text(files))),
            seed,
            _folder: folder,
        })
    }

    /// Collates batches from one of the sources.
    pub fn collate(&self, text: bool, points: usize) -> Collate {
        let data = if text { &self.text } else { &self.memory };
        short::small(points, self.seed).collate(data.clone())
    }
}

/// About [`KEPT`] points, evenly strided: work that is the same in every epoch.
fn subsampled(cloud: &Cloud) -> Cloud {
    let every = (cloud.xyz.len() / KEPT).max(1);
    let xyz = cloud.xyz.iter().step_by(every).copied().collect();
    Cloud {
        origin: cloud.origin,
        ..Cloud::from_points(xyz)
    }
}

/// An error of canopy's as one of candle's.
pub fn as_candle(e: anyhow::Error) -> candle_core::Error {
    candle_core::Error::Msg(format!("{e:#}"))
}

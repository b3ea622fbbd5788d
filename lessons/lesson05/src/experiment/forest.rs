//! Trees of the built-in forest, in memory and as text files.

use std::{fmt::Write as _, fs, path::PathBuf, sync::Arc};

use anyhow::{Context, Result};
use canopy::{loader::Collate, train::short};
use canopy_data::{Cloud, CloudSource, Dataset};
use tempfile::TempDir;

/// Trees that are learnt.
pub const TREES: usize = 64;
/// Points that are kept of a thinned cloud; a batch draws 256 of them.
const KEPT: usize = 2048;

/// The trees: thinned once and held in memory, as shards would be; and all their points as text.
pub struct Forest {
    pub memory: Dataset,
    pub text: Dataset,
    pub seed: u64,
    _folder: TempDir,
}

#[derive(Debug)]
struct Memory(Vec<Cloud>);

impl CloudSource for Memory {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        Ok(self.0[index].clone())
    }
}

/// One file a tree, a point a line.
#[derive(Debug)]
struct Text(Vec<PathBuf>);

impl CloudSource for Text {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        canopy_data::formats::read(&self.0[index])
    }
}

impl Forest {
    /// Every so many trees of the built-in forest, so that all species are there; written out as text into a folder that
    /// goes with the forest.
    pub fn open(seed: u64) -> Result<Self> {
        let all = short::built_in()?;
        let every = (all.len() / TREES).max(1);
        let taken: Vec<usize> = (0..all.len()).step_by(every).take(TREES).collect();
        let clouds = taken.iter().map(|&i| all.cloud(i)).collect::<Result<Vec<_>>>()?;
        let folder = tempfile::tempdir().context("no folder for text files can be made")?;
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
        let clouds = clouds.iter().map(thinned).collect();
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
            memory: set(Arc::new(Memory(clouds))),
            text: set(Arc::new(Text(files))),
            seed,
            _folder: folder,
        })
    }

    /// How clouds become batches.
    pub fn collate(&self, text: bool, points: usize) -> Collate {
        let data = if text { &self.text } else { &self.memory };
        short::small(points, self.seed).collate(data.clone())
    }
}

/// Every so many points, about [`KEPT`] in all: the heavy work that is the same in every epoch.
fn thinned(cloud: &Cloud) -> Cloud {
    let every = (cloud.xyz.len() / KEPT).max(1);
    let xyz = cloud.xyz.iter().step_by(every).copied().collect();
    Cloud {
        origin: cloud.origin,
        ..Cloud::from_points(xyz)
    }
}

/// An error of the trainer, as candle's.
pub fn said(e: anyhow::Error) -> candle_core::Error {
    candle_core::Error::Msg(format!("{e:#}"))
}

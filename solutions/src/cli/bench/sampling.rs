//! How long it takes to subsample a cloud, and how many clouds per second the loader reads from files of each format.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use canopy_data::{
    Cloud, CloudSource, Dataset, TreeRecord, formats,
    sample::{Method, to},
};
use serde::Serialize;

use super::median;
use crate::cli::data::progress::Progress;
use crate::loader::{Augment, Collate, Features, Frame, Loader, Points, batches};

/// Subsampling of one cloud on one thread.
#[derive(Debug, Serialize)]
pub struct Thinned {
    pub method: Method,
    pub points: usize,
    pub kept: usize,
    pub seconds: f64,
}

/// Subsamples `cloud` to 1,024 points by each method; times are medians.
pub fn thinned(cloud: &Cloud, repeats: usize, progress: &mut Progress) -> Result<Vec<Thinned>> {
    let mut rows = Vec::new();
    for method in [Method::Random, Method::Voxel, Method::Farthest] {
        let (mut times, mut kept) = (Vec::new(), 0);
        for seed in 0..repeats as u64 {
            let start = Instant::now();
            kept = to(&cloud.xyz, 1024, method, seed)?.len();
            times.push(start.elapsed().as_secs_f64());
            progress.at(seed, None)?;
        }
        rows.push(Thinned {
            method,
            points: cloud.len(),
            kept,
            seconds: median(&times),
        });
    }
    Ok(rows)
}

/// The loader's throughput on files of one format.
#[derive(Debug, Serialize)]
pub struct Stored {
    pub file: String,
    pub workers: usize,
    pub clouds_per_second: f64,
}

/// A data set that is one file, repeated.
#[derive(Debug)]
struct File(PathBuf);

impl CloudSource for File {
    fn cloud(&self, _: usize) -> Result<Cloud> {
        formats::read(&self.0)
    }
}

/// Reads `count` clouds from `file` in batches of 2 with two workers.
pub fn stored(file: &Path, count: usize, progress: &mut Progress) -> Result<Stored> {
    let record = TreeRecord {
        tree: "t".into(),
        source: file.display().to_string(),
        ..TreeRecord::default()
    };
    let source = Arc::new(File(file.to_owned()));
    let data = Dataset::new(
        "file".into(),
        vec!["any".into()],
        vec![record; count],
        String::new(),
        source,
    );
    let collate = Arc::new(Collate {
        data,
        points: Points::Fixed(1024),
        frame: Frame::Sphere,
        features: Features::Xyz,
        augment: Augment::NONE,
        seed: 1,
    });
    let workers = 2;
    let loader = Loader::new(collate, workers, 2);
    let all: Vec<usize> = (0..count).collect();
    let start = Instant::now();
    for batch in loader.epoch(0, batches(&all, 2, false)) {
        batch?;
        progress.at(0, None)?;
    }
    let name = file.file_name().unwrap_or_default();
    Ok(Stored {
        file: name.to_string_lossy().into_owned(),
        workers,
        clouds_per_second: count as f64 / start.elapsed().as_secs_f64(),
    })
}

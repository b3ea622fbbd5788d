//! One scan of one tree, in four formats, and a data set over each.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use canopy::loader::{Augment, Collate, Features, Frame};
use canopy_data::{Cloud, CloudSource, Dataset, TreeRecord, builtin, formats, sample::Subsample, shard};
use grader::experiment::{Report, json};
use lesson03::Lesson03;

/// Points of the scan, at most.
const POINTS: usize = 100_000;
/// Points of each cloud in a batch.
pub const WANTED: usize = 1024;

/// The files, by format.
pub struct Files {
    pub paths: [(&'static str, PathBuf); 4],
    pub points: usize,
}

impl Files {
    pub fn write(home: &Path, seed: u64) -> Result<Self> {
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
        Ok(Self { paths, points })
    }

    /// Reports the length of each file.
    pub fn report(&self, report: &mut Report) -> Result<()> {
        let (mut sizes, mut lines) = (Vec::new(), Vec::new());
        for (format, path) in &self.paths {
            let file = match path.is_dir() {
                true => &path.join("shard-0000.safetensors"),
                false => path,
            };
            let bytes = fs::metadata(file)
                .with_context(|| file.display().to_string())?
                .len();
            sizes.push(json!({ "format": format, "bytes": bytes }));
            lines.push(format!("{format} {:.2} MB", bytes as f64 / 1e6));
        }
        report.say(format!(
            "\nA scan of {} points as a file: {}.\n\
             A batch is 4 clouds of 1,024 points. Columns: workers, batches prefetched.",
            self.points,
            lines.join(", ")
        ));
        report.json("points", self.points);
        report.json("files", sizes);
        Ok(())
    }

    pub fn cloud(&self) -> Result<Cloud> {
        read(&self.paths[3].1)
    }

    /// Collates batches of `count` clouds that are all this file, sub-sampled by exercise 3.2.
    pub fn collate(&self, format: usize, count: usize, answer: &Lesson03) -> Collate {
        let record = |i: usize| TreeRecord {
            tree: format!("t{i}"),
            species: i % 2,
            source: self.paths[format].1.display().to_string(),
            ..TreeRecord::default()
        };
        let source = File {
            path: self.paths[format].1.clone(),
            subsample: answer.subsample,
        };
        Collate {
            data: Dataset::new(
                self.paths[format].0.into(),
                ["even", "odd"].map(String::from).to_vec(),
                (0..count).map(record).collect(),
                String::new(),
                Arc::new(source),
            ),
            points: WANTED,
            frame: Frame::Sphere,
            features: Features::Xyz,
            augment: Augment {
                turn: true,
                jitter: 0.005,
                ..Augment::NONE
            },
            seed: 1,
        }
    }
}

struct File {
    path: PathBuf,
    subsample: fn(&[[f32; 3]], Subsample, u64) -> Vec<usize>,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.fmt(f)
    }
}

impl CloudSource for File {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        let cloud = read(&self.path)?;
        let kept = (self.subsample)(&cloud.xyz, Subsample::Random(WANTED), index as u64);
        Ok(cloud.select(&kept))
    }
}

/// The scan in a point file, or in a folder with a shard.
fn read(path: &Path) -> Result<Cloud> {
    match path.is_dir() {
        true => shard::open(path)?.cloud(0),
        false => formats::read(path),
    }
}

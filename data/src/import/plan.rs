//! The files and crowns that an import will read.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use serde::Serialize;

use crate::{TreeRecord, dataset::with_commas};

/// A file that could not be read, or whose cloud cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damaged {
    /// The file.
    #[serde(rename = "file")]
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display().to_string();
        // Most messages of the readers name the file.
        if self.why.contains(&path) {
            f.write_str(&self.why)
        } else {
            write!(f, "{path}: {}", self.why)
        }
    }
}

/// One file to read.
#[derive(Debug)]
pub struct Job {
    pub path: PathBuf,
    /// Its trees: one, or the crowns to clip.
    pub trees: Vec<Tree>,
}

impl Job {
    /// A file that is one tree.
    pub fn file(path: PathBuf, label: String, record: TreeRecord) -> Self {
        let outlines = Vec::new();
        let trees = vec![Tree {
            label,
            record,
            outlines,
        }];
        Self { path, trees }
    }
}

/// One tree of a file.
#[derive(Debug)]
pub struct Tree {
    pub label: String,
    /// Its source is the path relative to the data set. [`Plan::keep`] sets its species; without a plot, the tree is a plot
    /// of its own.
    pub record: TreeRecord,
    /// The outlines of its crown, of which one is its part of the file (west, south, east and north, metres); none if it is the
    /// whole file.
    pub outlines: Vec<[f64; 4]>,
}

/// The labelled trees of a data set.
#[derive(Debug)]
pub struct Plan {
    /// Name of the data set.
    pub name: String,
    /// Labels, sorted.
    pub species: Vec<String>,
    /// Notes for the user: what was left out, and why.
    pub notes: Vec<String>,
    /// Files that are listed but do not exist.
    pub missing: Vec<Damaged>,
    pub(super) jobs: Vec<Job>,
}

impl Plan {
    /// A plan of files, in the natural order of their names.
    pub(super) fn new(name: String, mut jobs: Vec<Job>) -> Self {
        jobs.retain(|job| !job.trees.is_empty());
        jobs.sort_by_cached_key(|job| natural(&job.trees[0].record.source));
        for tree in jobs.iter_mut().flat_map(|job| &mut job.trees) {
            if tree.record.plot.is_empty() {
                tree.record.plot.clone_from(&tree.record.tree);
            }
        }
        let mut plan = Self {
            name,
            species: Vec::new(),
            notes: Vec::new(),
            missing: Vec::new(),
            jobs,
        };
        plan.keep(|_| true);
        plan
    }

    /// How many trees there are to read. Some may have too few points.
    pub fn trees(&self) -> usize {
        self.records().count()
    }

    /// The files to read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.jobs.iter().map(|job| job.path.as_path())
    }

    /// The trees to read.
    pub fn records(&self) -> impl Iterator<Item = &TreeRecord> {
        self.jobs.iter().flat_map(|job| &job.trees).map(|t| &t.record)
    }

    /// Keeps only trees of the species in `wanted`.
    ///
    /// # Errors
    /// Returns an error if the set lacks a wanted species; lists those that it has.
    pub(super) fn keep_species(&mut self, wanted: &[String]) -> Result<()> {
        let wanted = with_commas(&self.species, wanted);
        if let Some(w) = wanted.iter().find(|w| !self.species.contains(w)) {
            let known = self.species.join(", ");
            bail!("unknown label '{w}': '{}' has {known}", self.name);
        }
        self.keep(|label| wanted.iter().any(|w| w == label));
        Ok(())
    }

    /// Keeps the trees with a label that is `wanted`, and numbers the labels that are left in alphabetical order.
    pub(super) fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        let mut labels = BTreeSet::new();
        self.jobs.retain_mut(|job| {
            job.trees.retain(|tree| wanted(&tree.label));
            labels.extend(job.trees.iter().map(|tree| tree.label.clone()));
            !job.trees.is_empty()
        });
        self.species = Vec::from_iter(labels);
        for tree in self.jobs.iter_mut().flat_map(|job| &mut job.trees) {
            tree.record.species = self.species.binary_search(&tree.label).unwrap_or(0);
        }
    }
}

/// A sort key that puts `tree_2` before `tree_10`: digits compare as numbers.
pub fn natural(text: &str) -> Vec<(String, u64, String)> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(end);
        let value = number.parse().unwrap_or(u64::MAX);
        out.push((word.to_owned(), value, number.to_owned()));
        rest = tail;
    }
    out
}

//! The files and crowns that an import will read.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};

use super::crowns::Crown;
use crate::{TreeRecord, dataset::with_commas};

/// A file that could not be read, or whose cloud cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The file.
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

/// One tree of a file.
#[derive(Debug)]
pub struct Tree {
    pub record: TreeRecord,
    /// The tree's part of the file; `None` if it is the whole file.
    pub crown: Option<Crown>,
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

/// A file and the name of its label.
#[derive(Debug)]
pub struct Labelled {
    pub path: PathBuf,
    pub label: String,
    /// Its source is the path relative to the data set. Its species is not known yet; without a plot, the tree is a plot of
    /// its own.
    pub record: TreeRecord,
}

impl Plan {
    /// A plan of files; labels are numbered in alphabetical order.
    pub(super) fn of_files(name: String, mut files: Vec<Labelled>) -> Self {
        files.sort_by_cached_key(|f| natural(&f.record.source));
        let species: BTreeSet<String> = files.iter().map(|f| f.label.clone()).collect();
        let species: Vec<String> = species.into_iter().collect();
        let job = |Labelled {
                       path,
                       label,
                       mut record,
                   }| {
            record.species = species.binary_search(&label).unwrap_or(0);
            if record.plot.is_empty() {
                record.plot.clone_from(&record.tree);
            }
            let trees = vec![Tree { record, crown: None }];
            Job { path, trees }
        };
        Self {
            name,
            jobs: files.into_iter().map(job).collect(),
            species,
            notes: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// How many trees there are to read. Some may have too few points.
    pub fn trees(&self) -> usize {
        self.jobs.iter().map(|job| job.trees.len()).sum()
    }

    /// The files to read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.jobs.iter().map(|job| job.path.as_path())
    }

    /// The trees to read.
    pub fn records(&self) -> impl Iterator<Item = &TreeRecord> {
        self.jobs.iter().flat_map(|job| &job.trees).map(|t| &t.record)
    }

    /// Keeps only trees of the species in `wanted`, in alphabetical order.
    ///
    /// # Errors
    /// Returns an error if the set lacks a wanted species; lists those that it has.
    pub(super) fn keep_species(&mut self, wanted: &[String]) -> Result<()> {
        let wanted = with_commas(&self.species, wanted);
        if let Some(w) = wanted.iter().find(|w| !self.species.contains(w)) {
            let known = self.species.join(", ");
            bail!("unknown label '{w}': '{}' has {known}", self.name);
        }
        let kept = (0..self.species.len()).filter(|&s| wanted.contains(&self.species[s]));
        self.renumber(&Vec::from_iter(kept));
        Ok(())
    }

    /// Keeps the labels `kept` (ascending) and their trees.
    pub(super) fn renumber(&mut self, kept: &[usize]) {
        self.jobs.retain_mut(|job| {
            job.trees.retain_mut(|tree| {
                let new = kept.binary_search(&tree.record.species);
                tree.record.species = new.unwrap_or_default();
                new.is_ok()
            });
            !job.trees.is_empty()
        });
        self.species = kept.iter().map(|&s| self.species[s].clone()).collect();
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

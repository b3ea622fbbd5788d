//! The files and crowns that an import will read.

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::{Result, bail};

use super::crowns::Crown;
use crate::{Scan, TreeRecord};

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// A file of one tree.
#[derive(Debug)]
pub struct FileJob {
    pub path: PathBuf,
    pub record: TreeRecord,
}

/// A plot and the crowns to clip from it.
#[derive(Debug)]
pub struct PlotJob {
    /// The plot's LAS file.
    pub path: PathBuf,
    /// Crowns that this plot covers best.
    pub crowns: Vec<CrownJob>,
}

/// A crown to clip.
#[derive(Debug)]
pub struct CrownJob {
    pub crown: Crown,
    pub record: TreeRecord,
}

/// One file to read.
#[derive(Debug)]
pub enum Job {
    /// One file, one tree.
    File(FileJob),
    /// One file, many crowns.
    Plot(PlotJob),
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
    /// Path relative to the data set, for messages and digests.
    pub source: String,
    pub label: String,
    pub tree: String,
    /// `None` if unknown: the tree is then a plot of its own.
    pub plot: Option<String>,
    pub scan: Scan,
}

impl Plan {
    /// A plan of files; labels are numbered in alphabetical order.
    pub(super) fn of_files(name: String, mut files: Vec<Labelled>) -> Self {
        files.sort_by_cached_key(|f| natural(&f.source));
        let species: Vec<String> = files
            .iter()
            .map(|f| f.label.clone())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let jobs = files
            .into_iter()
            .map(|f| {
                let species = species.binary_search(&f.label).unwrap_or(0);
                Job::File(FileJob {
                    path: f.path,
                    record: TreeRecord {
                        species,
                        plot: f.plot.unwrap_or_else(|| f.tree.clone()),
                        tree: f.tree,
                        scan: f.scan,
                        source: f.source,
                        inventory: None,
                    },
                })
            })
            .collect();
        Self {
            name,
            species,
            notes: Vec::new(),
            missing: Vec::new(),
            jobs,
        }
    }

    /// How many trees there are to read. Some may have too few points.
    pub fn trees(&self) -> usize {
        self.jobs
            .iter()
            .map(|j| match j {
                Job::File(_) => 1,
                Job::Plot(p) => p.crowns.len(),
            })
            .sum()
    }

    /// The files to read.
    pub fn files(&self) -> impl Iterator<Item = &std::path::Path> {
        self.jobs.iter().map(|j| match j {
            Job::File(f) => f.path.as_path(),
            Job::Plot(p) => p.path.as_path(),
        })
    }

    /// The trees to read.
    pub fn records(&self) -> impl Iterator<Item = &TreeRecord> {
        self.jobs.iter().flat_map(|j| match j {
            Job::File(f) => vec![&f.record],
            Job::Plot(p) => p.crowns.iter().map(|c| &c.record).collect(),
        })
    }

    /// Drops labels that no tree has.
    pub(super) fn drop_absent_species(&mut self) {
        let mut used = BTreeSet::new();
        for job in &self.jobs {
            match job {
                Job::File(f) => used.insert(f.record.species),
                Job::Plot(p) => {
                    used.extend(p.crowns.iter().map(|c| c.record.species));
                    false
                }
            };
        }
        let used: Vec<usize> = used.into_iter().collect();
        self.renumber(&used);
    }

    /// Keeps only trees of the species in `wanted`, in alphabetical order.
    ///
    /// # Errors
    /// Returns an error if the set lacks a wanted species; lists those that it has.
    pub(super) fn keep_species(&mut self, wanted: &[String]) -> Result<()> {
        for w in wanted {
            if !self.species.contains(w) {
                bail!(
                    "unknown label '{w}': '{}' has {}",
                    self.name,
                    self.species.join(", ")
                );
            }
        }
        let kept: Vec<usize> = (0..self.species.len())
            .filter(|&s| wanted.contains(&self.species[s]))
            .collect();
        self.renumber(&kept);
        Ok(())
    }

    /// Keeps the labels `kept` (ascending) and their trees.
    pub(super) fn renumber(&mut self, kept: &[usize]) {
        let keep = |record: &mut TreeRecord| match kept.binary_search(&record.species) {
            Ok(new) => {
                record.species = new;
                true
            }
            Err(_) => false,
        };
        self.jobs.retain_mut(|job| match job {
            Job::File(f) => keep(&mut f.record),
            Job::Plot(p) => {
                p.crowns.retain_mut(|c| keep(&mut c.record));
                !p.crowns.is_empty()
            }
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
        out.push((
            word.to_owned(),
            number.parse().unwrap_or(u64::MAX),
            number.to_owned(),
        ));
        rest = tail;
    }
    out
}

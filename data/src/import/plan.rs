//! What an import will read: labelled files and crowns, before any cloud is read.

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::{Result, bail};

use super::idtrees::PlotJob;
use crate::{Scan, TreeRecord};

/// A file of one tree.
#[derive(Debug)]
pub struct FileJob {
    /// Where it lies.
    pub path: PathBuf,
    /// What it is.
    pub record: TreeRecord,
}

/// What is read at one go.
#[derive(Debug)]
pub enum Job {
    /// One file, one tree.
    File(FileJob),
    /// One file, many crowns.
    Plot(PlotJob),
}

/// Labelled trees that an importer found.
#[derive(Debug)]
pub struct Plan {
    /// Name of the data set.
    pub name: String,
    /// Labels, sorted.
    pub species: Vec<String>,
    /// What the user should know: what was left out, and why.
    pub notes: Vec<String>,
    /// Files that are named but not there.
    pub missing: Vec<super::Damaged>,
    pub(super) jobs: Vec<Job>,
}

/// A file with its label in words, as the importers find them.
#[derive(Debug)]
pub struct Labelled {
    pub path: PathBuf,
    /// Path relative to the data set: names the cloud in messages and digests.
    pub source: String,
    pub label: String,
    pub tree: String,
    /// `None` where the set does not say: the tree is then its own plot.
    pub plot: Option<String>,
    pub scan: Scan,
}

impl Plan {
    /// A plan of files, labels numbered in alphabetical order.
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

    /// Trees to read. Some may later prove to have too few points.
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

    /// Drops labels that no tree bears.
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
    /// Names a wanted species that the set lacks, and those that it has.
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

/// Sorts `tree_2` before `tree_10`: runs of digits compare as numbers.
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

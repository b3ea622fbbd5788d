//! Labelled trees: a data set for the trainer, independent of its file format.

use std::{
    fmt::{self, Debug},
    sync::Arc,
};

use anyhow::{Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Cloud;

/// How a tree was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Scan {
    /// From the ground, on a tripod (terrestrial).
    Tls,
    /// From a drone.
    Uls,
    /// From an aeroplane.
    Als,
    /// Unknown.
    #[default]
    Unknown,
}

/// What a forest inventory knows of a tree: measured values, and the conditions that it grows in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Height of the top above the ground, m.
    pub height: f32,
    /// Stem diameter at 1.3 m, m.
    pub diameter: f32,
    /// Volume of the stem's wood, m³.
    pub volume: f32,
    /// Quality of the site.
    pub site: Site,
    /// Season of the scan.
    pub season: Season,
}

/// How well trees grow on a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Site {
    /// Trees stay lower than others of the same diameter.
    Poor,
    /// In between.
    Medium,
    /// Trees grow taller than others of the same diameter.
    Good,
}

/// The season of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Season {
    /// With leaves.
    Summer,
    /// Broad-leaved trees are bare.
    Winter,
}

/// One scan of one tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeRecord {
    /// The tree. Scans of one tree have the same name and are in the same part of a split.
    pub tree: String,
    /// Index into the data set's species.
    pub species: usize,
    /// The plot or site, by which sets are split.
    pub plot: String,
    /// How it was scanned.
    pub scan: Scan,
    /// Where the cloud comes from, for messages.
    pub source: String,
    /// Its measured values, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
}

/// A source of clouds: shards on disk, files of a folder, memory.
pub trait CloudSource: Send + Sync + Debug {
    /// The cloud of record `index`.
    ///
    /// # Errors
    /// Names the file and place that could not be read.
    fn cloud(&self, index: usize) -> Result<Cloud>;

    /// Whether the cloud of record `index` has points at two places or more. A source that can tell from a few points
    /// reads no more.
    ///
    /// # Errors
    /// Names the file and place that could not be read.
    fn has_extent(&self, index: usize) -> Result<bool> {
        Ok(self.cloud(index)?.has_extent())
    }
}

impl CloudSource for Vec<Cloud> {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        let cloud = self.get(index).cloned();
        cloud.ok_or_else(|| anyhow!("there is no record {index}: the set has {}", self.len()))
    }
}

/// A set of labelled scans. Cheap to clone; clouds are read on request.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Its name: `builtin`, `stpctls`, a folder's name.
    pub name: String,
    /// Species, in the order of their labels.
    pub species: Vec<String>,
    /// The scans.
    pub records: Arc<Vec<TreeRecord>>,
    /// SHA-256 over species, records and clouds, in hex. Training a classifier on two sets with the same digest gives the
    /// same model. Sources and inventories are not part of it.
    pub digest: String,
    source: Arc<dyn CloudSource>,
}

impl Dataset {
    /// A data set of `records` whose clouds come from `source`.
    pub fn new(
        name: String,
        species: Vec<String>,
        records: Vec<TreeRecord>,
        digest: String,
        source: Arc<dyn CloudSource>,
    ) -> Self {
        Self {
            name,
            species,
            records: Arc::new(records),
            digest,
            source,
        }
    }

    /// How many scans there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no scan.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The cloud of record `index`.
    ///
    /// # Errors
    /// Names the file and place that could not be read.
    pub fn cloud(&self, index: usize) -> Result<Cloud> {
        self.source.cloud(index)
    }

    /// The indices of the records whose clouds have no extent: their shape cannot be seen, and they cannot be scaled to the
    /// unit sphere. Of the other clouds, only the first points are read.
    ///
    /// # Errors
    /// Names the cloud that could not be read.
    pub fn degenerate(&self) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        for index in 0..self.len() {
            if !self.source.has_extent(index)? {
                found.push(index);
            }
        }
        Ok(found)
    }
}

/// The names in `wanted`, which a command line has divided at commas, with the commas that are part of the names in `known`.
pub(crate) fn with_commas(known: &[String], wanted: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = wanted;
    while !rest.is_empty() {
        // The longest name that is known; otherwise one piece, which the caller reports.
        let is_known = |&pieces: &usize| known.contains(&rest[..pieces].join(","));
        let pieces = (1..=rest.len()).rev().find(is_known).unwrap_or(1);
        names.push(rest[..pieces].join(","));
        rest = &rest[pieces..];
    }
    names
}

/// Clouds of another data set, each changed when it is read. The change keeps the extent of a cloud.
struct View<F> {
    whole: Dataset,
    kept: Vec<usize>,
    change: F,
}

impl<F> Debug for View<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?}", self.kept.len(), self.whole)
    }
}

impl<F: Fn(usize, Cloud) -> Result<Cloud> + Send + Sync> CloudSource for View<F> {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        (self.change)(index, self.whole.cloud(self.kept[index])?)
    }

    fn has_extent(&self, index: usize) -> Result<bool> {
        self.whole.source.has_extent(self.kept[index])
    }
}

impl Dataset {
    /// The records `kept`, with clouds that `change` makes of each record's new index and cloud, whenever it is read.
    pub(crate) fn view(
        &self,
        kept: Vec<usize>,
        change: impl Fn(usize, Cloud) -> Result<Cloud> + Send + Sync + 'static,
    ) -> Self {
        let records = kept.iter().map(|&i| self.records[i].clone()).collect();
        let whole = self.clone();
        Self {
            records: Arc::new(records),
            source: Arc::new(View { whole, kept, change }),
            ..self.clone()
        }
    }

    /// The same set with clouds that `change` makes of each record's index and cloud, whenever it is read.
    pub(crate) fn map(&self, change: impl Fn(usize, Cloud) -> Result<Cloud> + Send + Sync + 'static) -> Self {
        self.view((0..self.len()).collect(), change)
    }

    /// The same set whose records have the labels `numbers[species]`, and these `species`.
    fn renumbered(mut self, numbers: &[usize], species: &[String]) -> Self {
        for record in Arc::make_mut(&mut self.records) {
            record.species = numbers[record.species];
        }
        self.species = species.to_vec();
        self
    }

    /// Only the named species (all if `species` is empty), in that order, and of them only clouds with at
    /// least `min_points` points. Reads every cloud once if `min_points` is above 1.
    ///
    /// # Errors
    /// Returns an error if the set lacks a species (lists those that it has), a cloud cannot be read, or no cloud is
    /// left.
    pub fn subset(&self, species: &[String], min_points: usize) -> Result<Self> {
        if species.is_empty() && min_points <= 1 {
            return Ok(self.clone());
        }
        let names = if species.is_empty() {
            self.species.clone()
        } else {
            with_commas(&self.species, species)
        };
        let mut number = vec![usize::MAX; self.species.len()];
        for (i, name) in names.iter().enumerate() {
            let Some(at) = self.species.iter().position(|s| s == name) else {
                bail!(
                    "the data set {} has no species '{name}': it has {}",
                    self.name,
                    self.species.join(", ")
                );
            };
            ensure!(number[at] == usize::MAX, "species '{name}' is named twice");
            number[at] = i;
        }
        let mut kept = Vec::new();
        for (i, record) in self.records.iter().enumerate() {
            let named = number[record.species] != usize::MAX;
            if named && (min_points <= 1 || self.cloud(i)?.len() >= min_points) {
                kept.push(i);
            }
        }
        ensure!(
            !kept.is_empty(),
            "no cloud of {} is left: none of {} has {min_points} points",
            self.name,
            names.join(", ")
        );
        let digest = Sha256::digest(format!("{} {names:?} {min_points}", self.digest));
        let mut subset = self.view(kept, |_, cloud| Ok(cloud)).renumbered(&number, &names);
        subset.digest = digest.iter().map(|b| format!("{b:02x}")).collect();
        Ok(subset)
    }

    /// The same clouds with the label numbers of `species`, those of a model.
    ///
    /// # Errors
    /// Returns an error if `species` lacks a species of this set.
    pub fn relabel(&self, species: &[String]) -> Result<Self> {
        let number = |name: &String| {
            let at = species.iter().position(|s| s == name);
            at.ok_or_else(|| {
                anyhow!(
                    "the model does not know '{name}': it knows {}",
                    species.join(", ")
                )
            })
        };
        let numbers = self.species.iter().map(number).collect::<Result<Vec<_>>>()?;
        Ok(self.clone().renumbered(&numbers, species))
    }
}

#[cfg(test)]
impl Dataset {
    /// A set of `clouds` of ash, beech and oak in turn, whose trees are t0, t1, ….
    pub(crate) fn of_clouds(clouds: Vec<Cloud>) -> Self {
        let record = |i: usize| TreeRecord {
            tree: format!("t{i}"),
            species: i % 3,
            ..TreeRecord::default()
        };
        let species = ["ash", "beech", "oak"].map(String::from).to_vec();
        let records = (0..clouds.len()).map(record).collect();
        Self::new("set".into(), species, records, "d".into(), Arc::new(clouds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_keeps_labels_and_clouds_together() {
        let set = Dataset::of_clouds(Vec::from_iter(
            (0..12).map(|i| Cloud::from_points(vec![[i as f32; 3]; i])),
        ));
        let part = set.subset(&["oak".into(), "ash".into()], 6).unwrap();
        assert_eq!(part.species, ["oak", "ash"]);
        let trees = part.records.iter().map(|r| (r.tree.as_str(), r.species));
        let expected = [("t6", 1), ("t8", 0), ("t9", 1), ("t11", 0)];
        assert_eq!(Vec::from_iter(trees), expected);
        assert_eq!(part.cloud(3).unwrap().len(), 11);
        assert_ne!(part.digest, set.digest);
        let model = ["oak", "elm", "ash", "beech"].map(String::from);
        let records = set.relabel(&model).unwrap().records;
        assert_eq!([0, 1, 2].map(|i| records[i].species), [2, 3, 0]);
        assert!(set.relabel(&model[..2]).is_err());
        for (species, least, part) in [
            ("elm", 1, "'elm': it has ash, beech, oak"),
            ("oak", 99, "is left"),
        ] {
            let e = set.subset(&[species.into()], least).unwrap_err().to_string();
            assert!(e.contains(part), "{e}");
        }
    }
}

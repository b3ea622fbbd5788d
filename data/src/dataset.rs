//! Labelled trees: what the trainer sees of a data set, whatever it was imported from.

use std::{fmt::Debug, sync::Arc};

use anyhow::Result;
use serde::{Deserialize, Serialize};

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
    /// Not known.
    #[default]
    Unknown,
}

/// One scan of one tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeRecord {
    /// The tree. Two scans of one tree bear the same name, and never part in a split.
    pub tree: String,
    /// Index into the data set's species.
    pub species: usize,
    /// The plot or site it grew on: what splits are made by.
    pub plot: String,
    /// How it was scanned.
    pub scan: Scan,
    /// Where the cloud comes from, for messages: a file, or a shard and its place.
    pub source: String,
}

/// Where clouds are fetched from: shards on disk, files of a folder, memory.
pub trait CloudSource: Send + Sync + Debug {
    /// The cloud of record `index`.
    ///
    /// # Errors
    /// Names the file and place that could not be read.
    fn cloud(&self, index: usize) -> Result<Cloud>;
}

/// A set of labelled scans. Cheap to clone; clouds are read when asked for.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Its name: `builtin`, `stpctls`, a folder's name.
    pub name: String,
    /// Species, in the order of their labels.
    pub species: Vec<String>,
    /// The scans.
    pub records: Arc<Vec<TreeRecord>>,
    /// SHA-256 over species, records and clouds, in hex: two sets with one digest train the same.
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
}

//! `dataset.json`: the species, records and shards of a set.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::TreeRecord;

/// The manifest's file name.
pub const FILE: &str = "dataset.json";
const FORMAT: &str = "canopy-dataset-2";

/// The fields that are known before the first cloud is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// The set's name: `builtin`, `stpctls`, a folder's name.
    pub name: String,
    /// Species, in the order of their labels.
    pub species: Vec<String>,
    /// Licence of the data, such as `CC-BY-4.0`; empty if unknown.
    #[serde(default)]
    pub licence: String,
    /// Where the data come from and how to cite them.
    #[serde(default)]
    pub source: String,
}

/// One shard file of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardInfo {
    /// Its name within the folder.
    pub file: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// How many clouds it has.
    pub clouds: usize,
    /// CRC-32 of its tensor `cloud_crc32`, which has the CRC-32 of each cloud.
    pub table_crc32: u32,
}

/// The content of `dataset.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    format: String,
    /// Name, species, licence and source.
    #[serde(flatten)]
    pub meta: Meta,
    /// SHA-256 over species, records and clouds, in hex.
    pub digest: String,
    /// The shard files; their clouds, concatenated, are those of `records`.
    pub shards: Vec<ShardInfo>,
    /// The scans, in the order of their clouds.
    pub records: Vec<TreeRecord>,
}

impl Manifest {
    /// A manifest in the format of this release.
    pub fn new(meta: Meta, digest: String, shards: Vec<ShardInfo>, records: Vec<TreeRecord>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            meta,
            digest,
            shards,
            records,
        }
    }

    /// Reads and checks the manifest of the set in `dir`.
    ///
    /// # Errors
    /// Names the file, and the line or record that is wrong.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let file = File::open(&path).with_context(|| {
            format!(
                "cannot open {}: expected a folder of shards, which has a {FILE}",
                path.display()
            )
        })?;
        let m: Self = serde_json::from_reader(BufReader::new(file)).with_context(|| {
            format!(
                "{}: not a manifest, or damaged; import the set again",
                path.display()
            )
        })?;
        m.check().with_context(|| path.display().to_string())?;
        Ok(m)
    }

    fn check(&self) -> Result<()> {
        ensure!(
            self.format == FORMAT,
            "expected format {FORMAT}, found {}: written by another release; import the set again",
            self.format
        );
        let n = self.meta.species.len();
        for (i, r) in self.records.iter().enumerate() {
            ensure!(
                r.species < n,
                "record {i} (tree {}): species {} of {n}: the label is not in the list of species",
                r.tree,
                r.species
            );
        }
        let clouds = self
            .shards
            .iter()
            .try_fold(0usize, |sum, s| sum.checked_add(s.clouds));
        ensure!(
            clouds == Some(self.records.len()),
            "{} records, but the shards have {clouds:?} clouds",
            self.records.len()
        );
        for s in &self.shards {
            // A manifest from elsewhere must not name files outside its folder.
            ensure!(
                Path::new(&s.file).file_name() == Some(s.file.as_ref()),
                "shard {:?} is not a file name",
                s.file
            );
        }
        Ok(())
    }
}

//! `dataset.json`: the species, records and shards of a set.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::TreeRecord;

/// The manifest's file name.
pub const FILE: &str = "dataset.json";
/// The format of this release.
pub const FORMAT: &str = "canopy-dataset-2";

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
    /// How many clouds it has.
    pub clouds: usize,
    /// CRC-32 of its tensor `cloud_crc32`, which has the CRC-32 of each cloud.
    pub table_crc32: u32,
}

/// The content of `dataset.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub(super) format: String,
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
    /// Reads and checks the manifest of the set in `dir`.
    ///
    /// # Errors
    /// Names the file, and the line or record that is wrong.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let at = path.display();
        let file = File::open(&path)
            .with_context(|| format!("cannot open {at}: expected a folder of shards, which has a {FILE}"))?;
        let m: Self = serde_json::from_reader(BufReader::new(file))
            .with_context(|| format!("{at}: not a manifest, or damaged; import the set again"))?;
        m.check().with_context(|| at.to_string())?;
        Ok(m)
    }

    fn check(&self) -> Result<()> {
        ensure!(
            self.format == FORMAT,
            "expected format {FORMAT}, found {}: written by another release; import the set again",
            self.format
        );
        let n = self.meta.species.len();
        for (i, TreeRecord { tree, species, .. }) in self.records.iter().enumerate() {
            ensure!(
                *species < n,
                "record {i} (tree {tree}): species {species} of {n}: the label is not in the list of species"
            );
        }
        let (records, clouds) = (
            self.records.len(),
            self.shards.iter().map(|s| s.clouds as u128).sum::<u128>(),
        );
        ensure!(
            clouds == records as u128,
            "{records} records, but the shards have {clouds} clouds"
        );
        for ShardInfo { file, .. } in &self.shards {
            // A manifest from elsewhere must not name files outside its folder.
            let is_name = Path::new(file).file_name() == Some(file.as_ref());
            ensure!(is_name, "shard {file:?} is not a file name");
        }
        Ok(())
    }
}

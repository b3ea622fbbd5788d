//! Our own binary form of a labelled set: a folder of memory-mapped shards with a manifest.
//!
//! [`Writer`] makes one, [`open`] gives it back as a [`Dataset`]. A cloud is read by its number, in any order and from
//! any thread, and is held against its checksum each time.
//!
//! ```
//! use canopy_data::{Cloud, Scan, TreeRecord, shard};
//! # fn main() -> anyhow::Result<()> {
//! # let home = tempfile::tempdir()?;
//! # let dir = home.path().join("set");
//! let meta = shard::Meta { name: "two".into(), species: vec!["beech".into(), "oak".into()], ..Default::default() };
//! let mut writer = shard::Writer::create(&dir, meta)?;
//! let record = TreeRecord { tree: "t1".into(), species: 1, plot: "p1".into(), scan: Scan::Tls, source: "t1.laz".into() };
//! writer.push(&record, &Cloud::from_points(vec![[0.0, 1.0, 2.5]]))?;
//! let digest = writer.finish()?;
//!
//! let set = shard::open(&dir)?;
//! assert_eq!((set.digest.as_str(), set.records[0].species), (digest.as_str(), 1));
//! assert_eq!(set.cloud(0)?.xyz, [[0.0, 1.0, 2.5]]);
//! # Ok(())
//! # }
//! ```

mod file;
mod layout;
mod manifest;
#[cfg(test)]
mod tests;
mod writer;

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result, ensure};

pub use file::{Shard, ShardWriter};
pub(crate) use layout::attributes;
pub use layout::{Entry, Header, MAGIC};
pub use manifest::{Manifest, Meta, ShardInfo};
pub use writer::{Digest, Writer};

use crate::{Cloud, CloudSource, Dataset};

/// The clouds of a set's shards, mapped.
#[derive(Debug)]
struct Shards {
    files: Vec<Shard>,
    /// For each cloud its shard, and its number there.
    places: Vec<(usize, usize)>,
}

impl CloudSource for Shards {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        let &(file, place) = self
            .places
            .get(index)
            .with_context(|| format!("there is no record {index}: the set has {}", self.places.len()))?;
        self.files[file].cloud(place)
    }
}

/// Opens the set of shards in the folder `dir`. The clouds stay on disk until they are asked for.
///
/// # Errors
/// Names the file that is missing, damaged, of another length or of another set.
pub fn open(dir: &Path) -> Result<Dataset> {
    let manifest = Manifest::read(dir)?;
    let mut shards = Shards {
        files: Vec::new(),
        places: Vec::new(),
    };
    for (i, info) in manifest.shards.iter().enumerate() {
        let path = dir.join(&info.file);
        let shard = Shard::open(&path)?;
        ensure!(
            shard.header().clouds as usize == info.clouds && shard.header().table_crc == info.table_crc32,
            "{} is not the file that {} was written with: expected {} clouds and table checksum {:08x}, found {} and {:08x}; import the set again",
            path.display(),
            manifest::FILE,
            info.clouds,
            info.table_crc32,
            shard.header().clouds,
            shard.header().table_crc
        );
        shards.files.push(shard);
        shards.places.extend((0..info.clouds).map(|c| (i, c)));
    }
    Ok(Dataset::new(
        manifest.meta.name,
        manifest.meta.species,
        manifest.records,
        manifest.digest,
        Arc::new(shards),
    ))
}

/// The digest of `set`, from its clouds as they are now. Equal to `set.digest` where nothing has changed.
///
/// # Errors
/// Names the first cloud that cannot be read.
pub fn digest(set: &Dataset) -> Result<Digest> {
    let mut d = writer::Digester::new(&set.species);
    for (i, record) in set.records.iter().enumerate() {
        d.add(record, &set.cloud(i)?);
    }
    Ok(d.finish())
}

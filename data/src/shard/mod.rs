//! A labelled set as a folder of shards: safetensors files and a manifest, `dataset.json`.
//!
//! [`Writer`] writes one and [`open`] returns it as a [`Dataset`]. Clouds are read from a memory map, in any order and
//! from any thread; each is compared with its checksum when it is read.
//!
//! Any program that reads safetensors can read the shards. In Python, cloud `i` of a shard is
//!
//! ```python
//! from safetensors.numpy import load_file
//!
//! shard = load_file("set/shard-0000.safetensors")
//! begin, end = shard["cloud_start"][i : i + 2]
//! points = shard["xyz"][begin:end] + shard["cloud_origin"][i]  # metres, [points, 3]
//! ```
//!
//! The shards' tensors are:
//!
//! | tensor | dtype | shape | |
//! |---|---|---|---|
//! | `xyz` | F32 | `[points, 3]` | metres relative to the cloud's origin |
//! | `intensity` | U16 | `[points]` | in the scanner's unit |
//! | `class` | U8 | `[points]` | ASPRS class |
//! | `returns` | U8 | `[points, 2]` | number of the return, number of returns of its pulse |
//! | `cloud_start` | I64 | `[clouds + 1]` | cloud i has the points `cloud_start[i]..cloud_start[i + 1]` |
//! | `cloud_origin` | F64 | `[clouds, 3]` | metres |
//! | `cloud_attributes` | U8 | `[clouds]` | sum of 1 (has intensity), 2 (class), 4 (returns) |
//! | `cloud_crc32` | I64 | `[clouds]` | CRC-32 of the cloud's origin, attributes and points |
//!
//! `intensity`, `class` and `returns` are absent if no cloud has them, and 0 for clouds that do not have them. Cloud `i`
//! of the whole set is `records[i]` of `dataset.json`, in the order of its `shards`.
//!
//! ```
//! use canopy_data::{Cloud, TreeRecord, shard};
//! # fn main() -> anyhow::Result<()> {
//! # let home = tempfile::tempdir()?;
//! # let dir = home.path().join("set");
//! let meta = shard::Meta { name: "two".into(), species: vec!["beech".into(), "oak".into()], ..Default::default() };
//! let mut writer = shard::Writer::create(&dir, meta)?;
//! let record = TreeRecord { tree: "t1".into(), species: 1, plot: "p1".into(), source: "t1.laz".into(), ..Default::default() };
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
mod manifest;
#[cfg(test)]
mod tests;
mod writer;

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result, ensure};

use file::Shard;
pub(crate) use file::attributes;
use manifest::Manifest;
pub use manifest::Meta;
pub use writer::Writer;

use crate::{Cloud, CloudSource, Dataset};

/// The mapped shards of a set.
#[derive(Debug)]
struct Shards {
    files: Vec<Shard>,
    /// For each cloud its shard and its index there.
    places: Vec<(usize, usize)>,
}

impl Shards {
    /// The shard of a record, and its index there.
    fn place(&self, index: usize) -> Result<(&Shard, usize)> {
        let &(file, place) = self
            .places
            .get(index)
            .with_context(|| format!("there is no record {index}: the set has {}", self.places.len()))?;
        Ok((&self.files[file], place))
    }
}

impl CloudSource for Shards {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        let (shard, place) = self.place(index)?;
        shard.cloud(place)
    }

    fn has_extent(&self, index: usize) -> Result<bool> {
        let (shard, place) = self.place(index)?;
        Ok(shard.has_extent(place))
    }
}

/// Opens the set of shards in the folder `dir`. The clouds stay on disk until they are read.
///
/// # Errors
/// Names the file that is missing, damaged or of another set.
pub fn open(dir: &Path) -> Result<Dataset> {
    let manifest = Manifest::read(dir)?;
    let mut shards = Shards {
        files: Vec::new(),
        places: Vec::new(),
    };
    for (i, info) in manifest.shards.iter().enumerate() {
        let path = dir.join(&info.file);
        let shard = Shard::open(&path)?;
        let (clouds, crc32) = (shard.entries.len(), shard.table_crc32);
        ensure!(
            (clouds, crc32) == (info.clouds, info.table_crc32),
            "{} is not the file that {} describes: expected {} clouds and table checksum {:08x}, found {clouds} and {crc32:08x}; import the set again",
            path.display(),
            manifest::FILE,
            info.clouds,
            info.table_crc32
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

/// Writes `set` as shards into the folder `dir`; see [`Writer`]. `progress` is called with the number of scans so far; its
/// error stops the writing, and no file is left. Returns the digest.
///
/// # Errors
/// Returns an error if a cloud cannot be read or written.
pub fn write(
    set: &Dataset,
    meta: Meta,
    dir: &Path,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<String> {
    let mut writer = Writer::create(dir, meta)?;
    for (i, record) in set.records.iter().enumerate() {
        writer.push(record, &set.cloud(i)?)?;
        progress(i + 1)?;
    }
    writer.finish()
}

/// Computes the digest of `set` from its clouds, in hex. It equals `set.digest` if nothing has changed.
///
/// # Errors
/// Names the first cloud that cannot be read.
pub fn digest(set: &Dataset) -> Result<String> {
    let mut d = writer::Digester::new(&set.species);
    for (i, record) in set.records.iter().enumerate() {
        d.add(record, &set.cloud(i)?);
    }
    Ok(d.finish())
}

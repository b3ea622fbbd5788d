//! Reads one shard file through a memory map.

use std::{
    fs::File,
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, ensure};
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};

use super::layout::{ATTRIBUTES, COLUMNS, CRC32, Entry, ORIGIN, START, VERSION, checksum, shape};
use crate::{Cloud, Return};

/// A shard mapped into memory.
#[derive(Debug)]
pub struct Shard {
    path: PathBuf,
    map: Mmap,
    /// The bytes of each column in `map`; empty for a column that the shard does not have.
    columns: [Range<usize>; 4],
    entries: Vec<Entry>,
    table_crc32: u32,
}

impl Shard {
    /// Maps the shard at `path` and checks its header and table.
    ///
    /// # Errors
    /// Names the file and the tensor that is damaged or missing.
    pub fn open(path: &Path) -> Result<Self> {
        let named = || format!("cannot read shard {}", path.display());
        let file = File::open(path).with_context(named)?;
        // SAFETY: as with every mapped file, a process that truncates this one while it is read ends this program by a
        // signal. Shards are written under another name and renamed, so `ShardWriter` never does.
        let map = unsafe { Mmap::map(&file) }.with_context(named)?;
        Self::parse(path, map).with_context(named)
    }

    fn parse(path: &Path, map: Mmap) -> Result<Self> {
        ensure!(
            cfg!(target_endian = "little"),
            "shards are read on little-endian machines only; convert it to LAZ on one"
        );
        let (header, metadata) = SafeTensors::read_metadata(&map).map_err(|e| {
            anyhow!("its safetensors header is damaged or the file is truncated: {e}; import the set again")
        })?;
        let version = metadata.metadata().as_ref().and_then(|m| m.get(VERSION.0));
        ensure!(
            version.is_some_and(|v| v == VERSION.1),
            "expected {:?} in the metadata, found {version:?}: not a shard, or of another release; import the set again",
            VERSION
        );
        // Rows and bytes of the tensor `name`, which must have `values` values per row.
        let tensor = |name, dtype: Dtype, values: usize| {
            let info = metadata.info(name);
            let info = info.with_context(|| format!("expected a tensor {name}, found none"))?;
            let rows = info.shape.first().copied().unwrap_or(0);
            ensure!(
                info.dtype == dtype && info.shape == shape(rows, dtype, values * dtype.bitsize() / 8),
                "{name}: expected {dtype:?} with {values} values per row, found {:?} {:?}",
                info.dtype,
                info.shape
            );
            Ok((
                rows,
                8 + header + info.data_offsets.0..8 + header + info.data_offsets.1,
            ))
        };
        let starts: Vec<i64> = copied(&map[tensor(START, Dtype::I64, 1)?.1]);
        let clouds = starts.len().saturating_sub(1);
        let points = starts.last().map_or(0, |&n| n.max(0) as usize);
        let table = |name, dtype, values: usize| {
            let (rows, range) = tensor(name, dtype, values)?;
            ensure!(rows == clouds, "{name}: expected {clouds} clouds, found {rows}");
            Ok(&map[range])
        };
        let origins: Vec<[f64; 3]> = copied(table(ORIGIN, Dtype::F64, 3)?);
        let attributes = table(ATTRIBUTES, Dtype::U8, 1)?;
        let crc32 = table(CRC32, Dtype::I64, 1)?;
        let table_crc32 = crc32fast::hash(crc32);
        let crc32: Vec<i64> = copied(crc32);
        let mut columns = [0..0, 0..0, 0..0, 0..0];
        let mut known = 4;
        for (range, (name, dtype, width)) in columns.iter_mut().zip(COLUMNS) {
            if metadata.info(name).is_some() {
                let (rows, bytes) = tensor(name, dtype, width * 8 / dtype.bitsize())?;
                ensure!(rows == points, "{name}: expected {points} points, found {rows}");
                *range = bytes;
                known += 1;
            }
        }
        ensure!(
            known == metadata.tensors().len(),
            "expected the tensors of a shard, found {:?}",
            metadata.offset_keys()
        );
        ensure!(starts.first() == Some(&0), "{START}: expected 0 first");
        let mut entries = Vec::with_capacity(clouds);
        for (i, &origin) in origins.iter().enumerate() {
            let (from, to) = (starts[i], starts[i + 1]);
            let entry = Entry {
                points: from.max(0) as usize..to.max(0) as usize,
                origin,
                attributes: attributes[i],
                crc32: crc32[i] as u32,
            };
            ensure!(
                0 <= from && from <= to && to as usize <= points,
                "cloud {i}: points {from} to {to} of {points}: the table is damaged"
            );
            ensure!(
                origin.iter().all(|o| o.is_finite()),
                "cloud {i}: expected a finite origin, found {origin:?}"
            );
            let all = (0..4).all(|c| !entry.has(c) || entry.points.is_empty() || !columns[c].is_empty());
            ensure!(
                entry.attributes < 8 && all,
                "cloud {i}: attributes {} that the shard does not have",
                entry.attributes
            );
            entries.push(entry);
        }
        Ok(Self {
            path: path.to_owned(),
            map,
            columns,
            entries,
            table_crc32,
        })
    }

    /// CRC-32 of the tensor `cloud_crc32`.
    pub fn table_crc32(&self) -> u32 {
        self.table_crc32
    }

    /// The clouds.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn entry(&self, index: usize) -> Result<&Entry> {
        self.entries.get(index).with_context(|| {
            format!(
                "{}: there is no cloud {index}: it has {}",
                self.path.display(),
                self.entries.len()
            )
        })
    }

    /// Whether cloud `index` has points at two places or more. Reads up to the first point that differs, and does not
    /// compare the checksum.
    ///
    /// # Errors
    /// Returns an error if there is no such cloud.
    pub fn has_extent(&self, index: usize) -> Result<bool> {
        let (.., width) = COLUMNS[0];
        let Range { start, end } = self.entry(index)?.points;
        let bytes = &self.map[self.columns[0].clone()][start * width..end * width];
        let mut points = bytes
            .chunks_exact(width)
            .map(bytemuck::pod_read_unaligned::<[f32; 3]>);
        let first = points.next();
        Ok(points.any(|p| Some(p) != first))
    }

    /// Cloud `index`.
    ///
    /// # Errors
    /// Returns an error if there is no such cloud, its checksum does not match, or a coordinate is not finite.
    pub fn cloud(&self, index: usize) -> Result<Cloud> {
        let entry = self.entry(index)?;
        let parts: [&[u8]; 4] = std::array::from_fn(|c| {
            let (.., width) = COLUMNS[c];
            let Range { start, end } = entry.points;
            match entry.has(c) && start < end {
                true => &self.map[self.columns[c].clone()][start * width..end * width],
                false => &[],
            }
        });
        let crc32 = checksum(entry.origin, entry.attributes, parts);
        ensure!(
            crc32 == entry.crc32,
            "{}: cloud {index} is damaged: expected checksum {:08x}, found {crc32:08x}; fetch or import the set again",
            self.path.display(),
            entry.crc32
        );
        let [xyz, intensity, class, returns] = parts;
        let cloud = Cloud {
            origin: entry.origin,
            xyz: copied(xyz),
            intensity: copied(intensity),
            class: class.to_vec(),
            returns: copied::<Return>(returns),
        };
        cloud
            .validate()
            .with_context(|| format!("{}: cloud {index}", self.path.display()))?;
        Ok(cloud)
    }
}

/// `bytes` as owned values, whatever their alignment.
fn copied<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    let mut values = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
    values
}

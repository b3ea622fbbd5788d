//! One shard file: clouds in safetensors (see [`crate::shard`]).

use std::{
    collections::HashMap,
    fs::{self, File},
    iter,
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, ensure};
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use crate::{Cloud, Return};

/// Name, dtype and values per point of the columns, in the order of [`parts`].
const COLUMNS: [(&str, Dtype, usize); 4] = [
    ("xyz", Dtype::F32, 3),
    ("intensity", Dtype::U16, 1),
    ("class", Dtype::U8, 1),
    ("returns", Dtype::U8, 2),
];
/// Tensors with a row per cloud.
const START: &str = "cloud_start";
const ORIGIN: &str = "cloud_origin";
const ATTRIBUTES: &str = "cloud_attributes";
const CRC32: &str = "cloud_crc32";
/// Key and value in the file's metadata, which say the version of this layout.
const VERSION: (&str, &str) = ("canopy", "clouds 1");

/// Bytes of a point in column `column`.
fn width(column: usize) -> usize {
    let (_, dtype, values) = COLUMNS[column];
    values * dtype.bitsize() / 8
}

/// The shape of a column of `rows` rows.
fn shape(rows: usize, values: usize) -> Vec<usize> {
    match values {
        1 => vec![rows],
        values => vec![rows, values],
    }
}

/// One cloud of a shard.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its points' rows in the columns.
    pub points: Range<usize>,
    /// Its origin, metres.
    pub origin: [f64; 3],
    /// What it has besides points: see [`attributes`].
    attributes: u8,
    /// CRC-32 of origin, attributes and columns.
    crc32: u32,
}

impl Entry {
    /// Whether the cloud has column `column` of [`COLUMNS`].
    pub fn has(&self, column: usize) -> bool {
        column == 0 || self.attributes >> (column - 1) & 1 == 1
    }

    /// The bytes of its points in column `column`.
    fn bytes(&self, column: usize) -> Range<usize> {
        self.points.start * width(column)..self.points.end * width(column)
    }
}

/// CRC-32 of a cloud, given the bytes of its columns.
fn checksum(origin: [f64; 3], attributes: u8, parts: [&[u8]; 4]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    origin.iter().for_each(|o| crc.update(&o.to_le_bytes()));
    crc.update(&[attributes]);
    parts.into_iter().for_each(|p| crc.update(p));
    crc.finalize()
}

/// The bytes of the columns of `cloud`; empty for those that it does not have.
pub fn parts(cloud: &Cloud) -> [&[u8]; 4] {
    [
        bytemuck::cast_slice(&cloud.xyz),
        bytemuck::cast_slice(&cloud.intensity),
        &cloud.class,
        bytemuck::cast_slice(&cloud.returns),
    ]
}

/// What `cloud` has besides its points: the sum of 1 (intensity), 2 (class) and 4 (returns).
pub fn attributes(cloud: &Cloud) -> u8 {
    u8::from(!cloud.intensity.is_empty())
        | u8::from(!cloud.class.is_empty()) << 1
        | u8::from(!cloud.returns.is_empty()) << 2
}

/// The clouds of a shard that is not written yet: safetensors has the sizes of all tensors at the start of a file.
#[derive(Debug, Default)]
pub struct Clouds {
    columns: [Vec<u8>; 4],
    /// The number of points up to the end of each cloud.
    ends: Vec<i64>,
    origins: Vec<[f64; 3]>,
    attributes: Vec<u8>,
    crc32: Vec<i64>,
}

impl Clouds {
    /// Adds a cloud.
    ///
    /// # Errors
    /// Returns an error if the cloud is not valid (see [`Cloud::validate`]).
    pub fn push(&mut self, cloud: &Cloud) -> Result<()> {
        cloud.validate()?;
        let (before, parts) = (self.points(), parts(cloud));
        for (c, (column, part)) in self.columns.iter_mut().zip(parts).enumerate() {
            if !part.is_empty() {
                column.resize(before * width(c), 0);
                column.extend_from_slice(part);
            }
        }
        let attributes = attributes(cloud);
        self.ends.push((before + cloud.len()) as i64);
        self.origins.push(cloud.origin);
        self.crc32.push(checksum(cloud.origin, attributes, parts).into());
        self.attributes.push(attributes);
        Ok(())
    }

    fn points(&self) -> usize {
        self.ends.last().map_or(0, |&n| n as usize)
    }

    /// Bytes of the columns so far.
    pub fn bytes(&self) -> u64 {
        self.columns.iter().map(|c| c.len() as u64).sum()
    }

    /// Writes the file `path`. Returns how many clouds it has, and the CRC-32 of its table.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn write(mut self, path: &Path) -> Result<(usize, u32)> {
        let starts: Vec<i64> = iter::once(0).chain(self.ends.iter().copied()).collect();
        let (points, clouds) = (self.points(), self.origins.len());
        for (c, column) in self.columns.iter_mut().enumerate() {
            if !column.is_empty() {
                column.resize(points * width(c), 0);
            }
        }
        let crc32: &[u8] = bytemuck::cast_slice(&self.crc32);
        let (starts, origins) = (bytemuck::cast_slice(&starts), bytemuck::cast_slice(&self.origins));
        let mut tensors = vec![
            (START, TensorView::new(Dtype::I64, vec![clouds + 1], starts)?),
            (ORIGIN, TensorView::new(Dtype::F64, vec![clouds, 3], origins)?),
            (
                ATTRIBUTES,
                TensorView::new(Dtype::U8, vec![clouds], &self.attributes)?,
            ),
            (CRC32, TensorView::new(Dtype::I64, vec![clouds], crc32)?),
        ];
        for (column, (name, dtype, values)) in self.columns.iter().zip(COLUMNS) {
            if !column.is_empty() || name == COLUMNS[0].0 {
                tensors.push((name, TensorView::new(dtype, shape(points, values), column)?));
            }
        }
        let metadata = HashMap::from([(VERSION.0.to_owned(), VERSION.1.to_owned())]);
        // Not `serialize_to_file`: its file could be read by its owner only.
        fs::write(path, safetensors::serialize(tensors, Some(metadata))?)?;
        Ok((clouds, crc32fast::hash(crc32)))
    }
}

/// A shard mapped into memory.
#[derive(Debug)]
pub struct Shard {
    path: PathBuf,
    map: Mmap,
    /// The bytes of each column in `map`; empty for a column that the shard does not have.
    columns: [Range<usize>; 4],
    /// The clouds.
    pub entries: Vec<Entry>,
    /// CRC-32 of the tensor `cloud_crc32`.
    pub table_crc32: u32,
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
        // signal. Shards are written under another name and renamed, so `shard::Writer` never does.
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
            "expected {VERSION:?} in the metadata, found {version:?}: not a shard, or of another release; import the set again"
        );
        // Rows and bytes of the tensor `name`, which must have `values` values per row.
        let tensor = |name, dtype: Dtype, values: usize| {
            let info = metadata.info(name);
            let info = info.with_context(|| format!("expected a tensor {name}, found none"))?;
            let rows = info.shape.first().copied().unwrap_or(0);
            let (found, dims) = (info.dtype, &info.shape);
            ensure!(
                found == dtype && *dims == shape(rows, values),
                "{name}: expected {dtype:?} with {values} values per row, found {found:?} {dims:?}"
            );
            let (from, to) = info.data_offsets;
            Ok((rows, 8 + header + from..8 + header + to))
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
        for (range, (name, dtype, values)) in columns.iter_mut().zip(COLUMNS) {
            if metadata.info(name).is_some() {
                let (rows, bytes) = tensor(name, dtype, values)?;
                ensure!(rows == points, "{name}: expected {points} points, found {rows}");
                *range = bytes;
                known += 1;
            }
        }
        ensure!(
            known == metadata.tensors().len() && starts.first() == Some(&0),
            "expected the tensors of a shard, and {START} from 0, found {:?}",
            metadata.offset_keys()
        );
        let entry = |(i, &origin): (usize, &[f64; 3])| {
            let (from, to) = (starts[i], starts[i + 1]);
            ensure!(
                0 <= from && from <= to && to as usize <= points,
                "cloud {i}: points {from} to {to} of {points}: the table is damaged"
            );
            ensure!(
                origin.iter().all(|o| o.is_finite()),
                "cloud {i}: expected a finite origin, found {origin:?}"
            );
            let entry = Entry {
                points: from as usize..to as usize,
                origin,
                attributes: attributes[i],
                crc32: crc32[i] as u32,
            };
            let all = (0..4).all(|c| !entry.has(c) || entry.points.is_empty() || !columns[c].is_empty());
            ensure!(
                entry.attributes < 8 && all,
                "cloud {i}: attributes {} that the shard does not have",
                entry.attributes
            );
            Ok(entry)
        };
        Ok(Self {
            path: path.to_owned(),
            entries: origins.iter().enumerate().map(entry).collect::<Result<_>>()?,
            map,
            columns,
            table_crc32,
        })
    }

    /// Whether cloud `index` has points at two places or more. Reads up to the first point that differs, and does not
    /// compare the checksum.
    pub fn has_extent(&self, index: usize) -> bool {
        let bytes = &self.map[self.columns[0].clone()][self.entries[index].bytes(0)];
        let mut points = bytes
            .chunks_exact(width(0))
            .map(bytemuck::pod_read_unaligned::<[f32; 3]>);
        let first = points.next();
        points.any(|p| Some(p) != first)
    }

    /// Cloud `index`.
    ///
    /// # Errors
    /// Returns an error if its checksum does not match, or a coordinate is not finite.
    pub fn cloud(&self, index: usize) -> Result<Cloud> {
        let (entry, path) = (&self.entries[index], self.path.display());
        let parts: [&[u8]; 4] = std::array::from_fn(|c| match entry.has(c) && !entry.points.is_empty() {
            true => &self.map[self.columns[c].clone()][entry.bytes(c)],
            false => &[],
        });
        let (expected, found) = (entry.crc32, checksum(entry.origin, entry.attributes, parts));
        ensure!(
            found == expected,
            "{path}: cloud {index} is damaged: expected checksum {expected:08x}, found {found:08x}; fetch or import the set again"
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
            .with_context(|| format!("{path}: cloud {index}"))?;
        Ok(cloud)
    }
}

/// `bytes` as owned values, whatever their alignment.
fn copied<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    let mut values = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
    values
}

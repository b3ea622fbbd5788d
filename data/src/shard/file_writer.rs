//! Writes one shard file as clouds arrive.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::Result;
use memmap2::Mmap;
use safetensors::{Dtype, tensor::TensorView};

use super::layout::{ATTRIBUTES, COLUMNS, CRC32, ORIGIN, START, VERSION, attributes, checksum, parts, shape};
use crate::{Cloud, atomic};

/// Writes clouds one after another.
///
/// safetensors has the sizes of all tensors at the start of a file, so each column is collected in a temporary file
/// until [`ShardWriter::finish`].
#[derive(Debug)]
pub struct ShardWriter {
    path: PathBuf,
    columns: [Column; 4],
    starts: Vec<i64>,
    origins: Vec<[f64; 3]>,
    attributes: Vec<u8>,
    crc32: Vec<i64>,
}

/// A column that is being written.
#[derive(Debug)]
struct Column {
    file: BufWriter<File>,
    bytes: usize,
}

impl Column {
    fn write(&mut self, part: &[u8]) -> Result<()> {
        self.file.write_all(part)?;
        self.bytes += part.len();
        Ok(())
    }

    /// Adds zeros up to a length of `bytes`.
    fn pad(&mut self, bytes: usize) -> Result<()> {
        let missing = bytes.saturating_sub(self.bytes) as u64;
        io::copy(&mut io::repeat(0).take(missing), &mut self.file)?;
        self.bytes = self.bytes.max(bytes);
        Ok(())
    }

    /// The bytes that were written; none if there are none.
    fn map(self) -> Result<Option<Mmap>> {
        let file = self.file.into_inner().map_err(|e| e.into_error())?;
        // SAFETY: the file has no name and this is its only handle, so nothing else can change it.
        (self.bytes > 0)
            .then(|| unsafe { Mmap::map(&file) })
            .transpose()
            .map_err(Into::into)
    }
}

impl ShardWriter {
    /// Begins the shard at `path`, which is created or replaced by [`ShardWriter::finish`].
    ///
    /// # Errors
    /// Returns an error if the folder of `path` is not writable.
    pub fn new(path: &Path) -> Result<Self> {
        let column = || {
            let file = tempfile::tempfile_in(atomic::parent(path))?;
            Ok::<_, io::Error>(Column {
                file: BufWriter::with_capacity(1 << 18, file),
                bytes: 0,
            })
        };
        Ok(Self {
            path: path.to_owned(),
            columns: [column()?, column()?, column()?, column()?],
            starts: vec![0],
            origins: Vec::new(),
            attributes: Vec::new(),
            crc32: Vec::new(),
        })
    }

    /// Adds a cloud.
    ///
    /// # Errors
    /// Returns an error if the cloud is not valid (see [`Cloud::validate`]) or cannot be written.
    pub fn push(&mut self, cloud: &Cloud) -> Result<()> {
        cloud.validate()?;
        let before = self.points();
        let parts = parts(cloud);
        for ((column, part), (.., width)) in self.columns.iter_mut().zip(parts).zip(COLUMNS) {
            if !part.is_empty() {
                column.pad(before * width)?;
                column.write(part)?;
            }
        }
        let attributes = attributes(cloud);
        self.starts.push((before + cloud.len()) as i64);
        self.origins.push(cloud.origin);
        self.crc32.push(checksum(cloud.origin, attributes, parts).into());
        self.attributes.push(attributes);
        Ok(())
    }

    fn points(&self) -> usize {
        self.starts.last().map_or(0, |&n| n as usize)
    }

    /// Bytes of the columns so far.
    pub fn bytes(&self) -> u64 {
        self.columns.iter().map(|c| c.bytes as u64).sum()
    }

    /// Writes the file. Returns how many clouds it has, and the CRC-32 of its table.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn finish(mut self) -> Result<(usize, u32)> {
        let (points, clouds) = (self.points(), self.origins.len());
        for (column, (.., width)) in self.columns.iter_mut().zip(COLUMNS) {
            if column.bytes > 0 {
                column.pad(points * width)?;
            }
        }
        let mut maps = Vec::new();
        for column in self.columns {
            maps.push(column.map()?);
        }
        let mut tensors = vec![
            (
                START,
                TensorView::new(Dtype::I64, vec![clouds + 1], bytemuck::cast_slice(&self.starts))?,
            ),
            (
                ORIGIN,
                TensorView::new(Dtype::F64, vec![clouds, 3], bytemuck::cast_slice(&self.origins))?,
            ),
            (
                ATTRIBUTES,
                TensorView::new(Dtype::U8, vec![clouds], &self.attributes)?,
            ),
            (
                CRC32,
                TensorView::new(Dtype::I64, vec![clouds], bytemuck::cast_slice(&self.crc32))?,
            ),
        ];
        for (map, (name, dtype, width)) in maps.iter().zip(COLUMNS) {
            if map.is_some() || name == COLUMNS[0].0 {
                let data = map.as_deref().unwrap_or_default();
                tensors.push((name, TensorView::new(dtype, shape(points, dtype, width), data)?));
            }
        }
        // `serialize_to_file` replaces the file by one that only its owner may read.
        let placeholder = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&self.path)?;
        let mode = placeholder.metadata()?.permissions();
        drop(placeholder);
        let metadata = HashMap::from([VERSION].map(|(k, v)| (k.to_owned(), v.to_owned())));
        safetensors::serialize_to_file(tensors, Some(metadata), &self.path)?;
        fs::set_permissions(&self.path, mode)?;
        Ok((clouds, crc32fast::hash(bytemuck::cast_slice(&self.crc32))))
    }
}

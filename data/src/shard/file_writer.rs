//! Writes one shard file as clouds arrive.

use std::{
    collections::HashMap,
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::Result;
use safetensors::{Dtype, tensor::TensorView};

use super::layout::{ATTRIBUTES, COLUMNS, CRC32, ORIGIN, START, VERSION, attributes, checksum, parts, shape};
use crate::Cloud;

/// Writes clouds one after another.
///
/// safetensors has the sizes of all tensors at the start of a file, so the columns are kept in memory until
/// [`ShardWriter::finish`].
#[derive(Debug)]
pub struct ShardWriter {
    path: PathBuf,
    columns: [Vec<u8>; 4],
    starts: Vec<i64>,
    origins: Vec<[f64; 3]>,
    attributes: Vec<u8>,
    crc32: Vec<i64>,
}

impl ShardWriter {
    /// Begins the shard at `path`, which is created or replaced by [`ShardWriter::finish`].
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            columns: Default::default(),
            starts: vec![0],
            origins: Vec::new(),
            attributes: Vec::new(),
            crc32: Vec::new(),
        }
    }

    /// Adds a cloud.
    ///
    /// # Errors
    /// Returns an error if the cloud is not valid (see [`Cloud::validate`]).
    pub fn push(&mut self, cloud: &Cloud) -> Result<()> {
        cloud.validate()?;
        let before = self.points();
        let parts = parts(cloud);
        for ((column, part), (.., width)) in self.columns.iter_mut().zip(parts).zip(COLUMNS) {
            if !part.is_empty() {
                column.resize(before * width, 0);
                column.extend_from_slice(part);
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
        self.columns.iter().map(|c| c.len() as u64).sum()
    }

    /// Writes the file. Returns how many clouds it has, and the CRC-32 of its table.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn finish(mut self) -> Result<(usize, u32)> {
        let (points, clouds) = (self.points(), self.origins.len());
        let table =
            |name, dtype, shape, data| Ok::<_, anyhow::Error>((name, TensorView::new(dtype, shape, data)?));
        let mut tensors = vec![
            table(
                START,
                Dtype::I64,
                vec![clouds + 1],
                bytemuck::cast_slice(&self.starts),
            )?,
            table(
                ORIGIN,
                Dtype::F64,
                vec![clouds, 3],
                bytemuck::cast_slice(&self.origins),
            )?,
            table(ATTRIBUTES, Dtype::U8, vec![clouds], &self.attributes)?,
            table(CRC32, Dtype::I64, vec![clouds], bytemuck::cast_slice(&self.crc32))?,
        ];
        for (column, (name, dtype, width)) in self.columns.iter_mut().zip(COLUMNS) {
            if !column.is_empty() {
                column.resize(points * width, 0);
            }
            if !column.is_empty() || name == COLUMNS[0].0 {
                tensors.push(table(
                    name,
                    dtype,
                    shape(points, dtype, width),
                    column.as_slice(),
                )?);
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

//! LAS and LAZ (ASPRS LAS 1.4 R15; LASzip, Isenburg 2013). COPC files are LAZ files.
//!
//! The crate `las` parses headers and point records, the crate `laz` decompresses. Both trust the sizes that a file
//! claims, so every claim is compared with the file's length before either crate sees it.

mod chunks;
mod header;
mod laz;
mod write;

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use anyhow::{Context, Result};
use las::{PointData, PointDataBuilder};
use rayon::prelude::*;

pub use header::Header;
pub use laz::hide_decoder_panics;
pub use write::Sink;

use super::{
    points::origin_of,
    stream::{Grid, Source},
};
use crate::{Cloud, Return};
use chunks::Chunk;

/// A bounding box may be wrong by this much, metres, besides a step of the coordinates.
const TOLERANCE: f64 = 0.02;
/// Chunks with at most this many bytes of records are decoded at once: enough for all threads.
const PIECE: u64 = 24 << 20;

/// Opens a LAS or LAZ file of `len` bytes.
pub fn open(mut file: File, len: u64) -> Result<Box<dyn Source>> {
    let mut header = Header::read(&mut file, len)?;
    let chunks = chunks::find(&mut file, len, &mut header)?;
    // The first record of a chunk is not compressed, and begins with its coordinates.
    let mut first = [0; 12];
    if let Some(chunk) = chunks.first() {
        read_at(&mut file, chunk.at, &mut first)?;
    }
    let Grid { scale, offset } = header.grid;
    let integer = |a: usize| i32::from_le_bytes([0, 1, 2, 3].map(|i| first[4 * a + i]));
    Ok(Box::new(Points {
        file,
        origin: origin_of([0, 1, 2].map(|a| f64::from(integer(a)) * scale[a] + offset[a])),
        header,
        chunks,
        next: 0,
        seen: None,
    }))
}

/// Decodes chunks in parallel, and compares the header with them.
struct Points {
    file: File,
    header: Header,
    origin: [f64; 3],
    chunks: Vec<Chunk>,
    next: usize,
    /// Least and greatest x, y and z so far.
    seen: Option<[[f64; 3]; 2]>,
}

impl Points {
    fn decode(&self, chunk: &[u8], points: u64) -> Result<Cloud> {
        let mut records = PointDataBuilder::new().with_format(self.header.format).build();
        let bytes = records.resize_for(points as usize);
        match &self.header.laszip {
            Some(vlr) => laz::decompress(chunk, points, vlr, bytes)?,
            None => bytes.copy_from_slice(chunk),
        }
        Ok(self.cloud(&records))
    }

    fn cloud(&self, records: &PointData) -> Cloud {
        let Grid { scale, offset } = self.header.grid;
        let shift = [0, 1, 2].map(|a| offset[a] - self.origin[a]);
        let metres = |a: usize, v: i32| (f64::from(v) * scale[a] + shift[a]) as f32;
        let integers = records.x_raw().zip(records.y_raw()).zip(records.z_raw());
        let returns = records.return_number().zip(records.number_of_returns());
        Cloud {
            origin: self.origin,
            xyz: integers
                .map(|((x, y), z)| [metres(0, x), metres(1, y), metres(2, z)])
                .collect(),
            intensity: records.intensity().collect(),
            class: records.classification().collect(),
            returns: returns.map(|(number, of)| Return { number, of }).collect(),
        }
    }
}

impl Source for Points {
    fn next(&mut self) -> Result<Option<Cloud>> {
        let mut size = 0;
        let fits = |chunk: &&Chunk| {
            let own = chunk.points * self.header.record;
            size += own;
            size <= own.max(PIECE)
        };
        let left = &self.chunks[self.next..];
        let group = &left[..left.iter().take_while(fits).count()];
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            return Ok(None);
        };
        // Chunks are in order and within the file, so this is never longer than the file.
        let mut bytes = vec![0; (last.at + last.bytes - first.at) as usize];
        read_at(&mut self.file, first.at, &mut bytes)?;
        let decode = |&Chunk { at, bytes: n, points }: &Chunk| {
            let from = (at - first.at) as usize;
            let cloud = self.decode(&bytes[from..from + n as usize], points);
            cloud.with_context(|| {
                format!("the {points} points from byte {at} are damaged: copy or download the file again")
            })
        };
        let clouds = group.par_iter().map(decode).collect::<Result<Vec<Cloud>>>()?;
        self.next += group.len();
        let mut all = Cloud::default();
        for cloud in clouds {
            cloud.extend_bounds(&mut self.seen);
            all.append(cloud);
        }
        Ok(Some(all))
    }

    fn count(&self) -> Option<u64> {
        Some(self.header.count)
    }

    fn grid(&self) -> Option<Grid> {
        Some(self.header.grid)
    }

    fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = self.header.warning.iter().cloned().collect();
        // The box of points that are not read would be in doubt too.
        let Some(seen) = self.seen.filter(|_| all.is_empty()) else {
            return all;
        };
        let said = self.header.bounds();
        for (a, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let ([from, to], [least, most]) = ([said[0][a], said[1][a]], [seen[0][a], seen[1][a]]);
            let near = TOLERANCE + self.header.grid.scale[a].abs();
            if !((from - least).abs() <= near && (to - most).abs() <= near) {
                all.push(format!(
                    "the header says that {axis} is from {from:.3} to {to:.3}, but it is from {least:.3} to {most:.3}: another program may use the wrong box"
                ));
                break;
            }
        }
        all
    }
}

/// Reads `buffer.len()` bytes from byte `at`.
fn read_at(file: &mut File, at: u64, buffer: &mut [u8]) -> Result<()> {
    file.seek(SeekFrom::Start(at))?;
    let n = buffer.len();
    file.read_exact(buffer)
        .with_context(|| format!("byte {at}: expected {n} more bytes: the file is truncated"))
}

//! LAS and LAZ (ASPRS LAS 1.4 R15; LASzip, Isenburg 2013). COPC files are LAZ files.
//!
//! The crate `las` parses headers and point records, the crate `laz` decompresses. Both trust the sizes that a file
//! claims, so every claim is compared with the file's length before either crate sees it.

mod chunks;
mod header;
mod laz;
mod record;
mod write;

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use anyhow::{Context, Result};
use rayon::prelude::*;

pub use header::Header;
pub use laz::hide_decoder_panics;
pub use write::Sink;

use super::{sink::Grid, source::Source};
use crate::Cloud;
use chunks::Chunk;

/// A bounding box may be wrong by this much, metres, besides a step of the coordinates.
const TOLERANCE: f64 = 0.02;
/// Chunks with at most this many bytes of records are decoded at once: enough for all threads.
const PIECE: u64 = 24 << 20;

/// Opens a LAS or LAZ file of `len` bytes.
pub fn open(mut file: File, len: u64) -> Result<Box<dyn Source>> {
    let mut header = Header::read(&mut file, len)?;
    let chunks = chunks::find(&mut file, len, &mut header)?;
    // The first record of a chunk is not compressed.
    let mut first = vec![0; header.layout.len];
    if let Some(chunk) = chunks.first() {
        read_at(&mut file, chunk.at, &mut first)?;
    }
    Ok(Box::new(Points {
        file,
        origin: header.layout.origin(&first),
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
        let mut records = self.header.layout.buffer();
        let bytes = records.resize_for(points as usize);
        match &self.header.laszip {
            Some(vlr) => laz::decompress(chunk, points, vlr, bytes)?,
            None => bytes.copy_from_slice(chunk),
        }
        Ok(self.header.layout.cloud(&records, self.origin))
    }
}

impl Source for Points {
    fn next(&mut self) -> Result<Option<Cloud>> {
        let mut size = 0;
        let fits = |chunk: &&Chunk| {
            let own = chunk.points * self.header.layout.len as u64;
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
        let decode = |chunk: &Chunk| {
            let from = (chunk.at - first.at) as usize;
            self.decode(&bytes[from..from + chunk.bytes as usize], chunk.points)
                .with_context(|| {
                    format!(
                        "the {} points from byte {} are damaged: copy or download the file again",
                        chunk.points, chunk.at
                    )
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
        Some(self.header.layout.grid)
    }

    fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = self.header.warning.iter().cloned().collect();
        let scale = self.header.layout.grid.scale;
        let near = |a: usize, said: f64, found: f64| (said - found).abs() <= TOLERANCE + scale[a].abs();
        let said = self.header.bounds();
        // The box of points that are not read would be in doubt too.
        if let (true, Some(seen)) = (all.is_empty(), self.seen)
            && let Some(a) =
                (0..3).find(|&a| !near(a, said[0][a], seen[0][a]) || !near(a, said[1][a], seen[1][a]))
        {
            all.push(format!(
                "the header says that {} is from {:.3} to {:.3}, but it is from {:.3} to {:.3}: another program may use the wrong box",
                ["x", "y", "z"][a],
                said[0][a],
                said[1][a],
                seen[0][a],
                seen[1][a]
            ));
        }
        all
    }
}

/// Reads `buffer.len()` bytes from byte `at`.
fn read_at(file: &mut File, at: u64, buffer: &mut [u8]) -> Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(buffer).with_context(|| {
        format!(
            "byte {at}: expected {} more bytes: the file is truncated",
            buffer.len()
        )
    })
}

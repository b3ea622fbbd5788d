//! LAS and LAZ (ASPRS LAS 1.4 R15; LASzip, Isenburg 2013). COPC files are LAZ files.
//!
//! The crate `las` parses headers and point records, the crate `laz` decompresses. Both trust the sizes that a file
//! claims, so every claim is compared with the file's length before either crate sees it.

mod chunks;
mod header;
mod laz;
mod plain;
mod record;
mod write;

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use anyhow::{Context, Result};

pub use header::Header;
pub use laz::hide_decoder_panics;
pub use write::Sink;

use super::source::{Opened, Source};
use crate::Cloud;

/// A bounding box may be wrong by this much, metres, besides a step of the coordinates.
const TOLERANCE: f64 = 0.02;

/// Opens a LAS or LAZ file of `len` bytes.
pub fn open(mut file: File, len: u64) -> Result<Opened> {
    let header = Header::read(&mut file, len)?;
    let points: Option<Box<dyn Source>> = if header.count == 0 {
        None
    } else if header.laszip.is_some() {
        Some(laz::open(file, len, &header)?)
    } else {
        Some(Box::new(plain::Plain::new(file, &header)?))
    };
    Ok(Opened {
        count: Some(header.count),
        grid: Some(header.layout.grid),
        source: Box::new(Checked {
            header,
            points,
            seen: None,
        }),
    })
}

/// Compares the header with the points that are read.
struct Checked {
    header: Header,
    /// `None` in a file without points.
    points: Option<Box<dyn Source>>,
    /// Least and greatest x, y and z so far.
    seen: Option<[[f64; 3]; 2]>,
}

impl Source for Checked {
    fn next(&mut self) -> Result<Option<Cloud>> {
        let Some(points) = &mut self.points else {
            return Ok(None);
        };
        let cloud = points.next()?;
        if let Some(cloud) = &cloud {
            cloud.extend_bounds(&mut self.seen);
        }
        Ok(cloud)
    }

    fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = self.header.warning.iter().cloned().collect();
        all.extend(self.points.iter().flat_map(|points| points.warnings()));
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

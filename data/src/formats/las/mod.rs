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
pub use write::Sink;

use super::source::{Opened, Source};

/// Opens a LAS or LAZ file of `len` bytes.
pub fn open(mut file: File, len: u64) -> Result<Opened> {
    let header = Header::read(&mut file, len)?;
    let (count, grid) = (Some(header.count), Some(header.layout.grid));
    let source: Box<dyn Source> = if header.count == 0 {
        Box::new(Nothing)
    } else if header.laszip.is_some() {
        laz::open(file, len, header)?
    } else {
        Box::new(plain::Plain::new(file, &header)?)
    };
    Ok(Opened { count, grid, source })
}

/// A file without points.
struct Nothing;

impl Source for Nothing {
    fn fill(&mut self, _: &mut crate::Cloud, _: usize) -> Result<usize> {
        Ok(0)
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

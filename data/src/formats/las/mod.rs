//! LAS and LAZ (ASPRS LAS 1.4 R15; LASzip, Isenburg 2013), COPC included: a COPC file is a LAZ file.
//!
//! The header and its records are read by `las`, compressed points of the older formats by `laz`, layered ones by
//! `point14`, faster; raw records become a [`Cloud`] here, straight from a small buffer. Both crates trust a header's numbers, so these are
//! held against the file's length first.

mod arithmetic;
mod chunks;
mod header;
mod laz;
mod plain;
mod point14;
mod record;
#[cfg(test)]
mod tests;
mod write;

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use anyhow::{Context, Result};

pub use header::Header;
pub use write::Sink;

use super::reader::Source;

/// Opens a LAS or LAZ file of `len` bytes: how many points it has, and what reads them.
pub fn open(mut file: File, len: u64) -> Result<(Option<u64>, Box<dyn Source>)> {
    let header = Header::read(&mut file, len)?;
    let count = Some(header.count);
    let source: Box<dyn Source> = if header.count == 0 {
        Box::new(Nothing)
    } else if header.laszip.is_some() {
        laz::open(file, len, header)?
    } else {
        Box::new(plain::Plain::new(file, &header)?)
    };
    Ok((count, source))
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

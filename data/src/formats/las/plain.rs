//! Points that are not compressed.

use std::{fs::File, io::Read};

use anyhow::{Context, Result};
use las::PointData;

use super::{super::source::Source, Header, read_at, record::Layout};
use crate::Cloud;

/// Records that are read and decoded at once.
const BLOCK: usize = 4096;

/// Reads the records of a LAS file.
pub struct Plain {
    file: File,
    layout: Layout,
    origin: [f64; 3],
    left: u64,
    buffer: PointData,
}

impl Plain {
    pub fn new(mut file: File, header: &Header) -> Result<Self> {
        let start = u64::from(header.raw.offset_to_point_data);
        let mut first = vec![0; header.layout.len];
        read_at(&mut file, start, &mut first)?;
        read_at(&mut file, start, &mut [])?;
        Ok(Self {
            file,
            layout: header.layout,
            origin: header.layout.origin(&first),
            left: header.count,
            buffer: header.layout.buffer(),
        })
    }
}

impl Source for Plain {
    fn fill(&mut self, out: &mut Cloud, max: usize) -> Result<usize> {
        out.origin = self.origin;
        let n = self.left.min(max as u64) as usize;
        let mut done = 0;
        while done < n {
            let block = BLOCK.min(n - done);
            let read = self.file.read_exact(self.buffer.resize_for(block));
            read.with_context(|| {
                format!(
                    "{} points before the end: another program truncated the file while it was read",
                    self.left
                )
            })?;
            self.layout.append(&self.buffer, out);
            self.left -= block as u64;
            done += block;
        }
        Ok(n)
    }
}

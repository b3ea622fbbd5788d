//! Points that are not compressed.

use std::{fs::File, io::Read};

use anyhow::{Context, Result};

use super::{super::reader::Source, Header, read_at, record::Layout};
use crate::Cloud;

/// Records that are read and decoded at once.
const BLOCK: usize = 4096;

/// Reads the records of a LAS file.
pub struct Plain {
    file: File,
    layout: Layout,
    origin: [f64; 3],
    left: u64,
    buffer: Vec<u8>,
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
            buffer: Vec::new(),
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
            self.buffer.resize(block * self.layout.len, 0);
            self.file.read_exact(&mut self.buffer).with_context(|| {
                format!(
                    "{} points before the end: the file was cut short while it was read",
                    self.left
                )
            })?;
            self.layout.decode(&self.buffer, out);
            self.left -= block as u64;
            done += block;
        }
        Ok(n)
    }
}

//! Points that are not compressed.

use std::{fs::File, io::Read};

use anyhow::{Context, Result};
use las::PointData;

use super::{
    super::source::{PIECE, Source},
    Header, read_at,
    record::Layout,
};
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
    fn next(&mut self) -> Result<Option<Cloud>> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut cloud = Cloud {
            origin: self.origin,
            ..Cloud::default()
        };
        while self.left > 0 && cloud.len() < PIECE {
            let n = self.left.min(BLOCK as u64);
            let read = self.file.read_exact(self.buffer.resize_for(n as usize));
            read.with_context(|| {
                format!(
                    "{} points before the end: another program truncated the file while it was read",
                    self.left
                )
            })?;
            self.layout.append(&self.buffer, &mut cloud);
            self.left -= n;
        }
        Ok(Some(cloud))
    }
}

//! Writing PLY.

use std::{
    fs::File,
    io::{BufWriter, Seek, SeekFrom, Write},
};

use anyhow::{Result, ensure};

use super::super::sink::{self, Options, write_line};
use crate::{Cloud, shard::attributes};

/// Writes vertices in binary (little endian) or ASCII.
///
/// Coordinates are `float` if the cloud's origin is 0, so that they are read back bit-identical, and `double` otherwise.
pub struct Sink {
    out: BufWriter<File>,
    ascii: bool,
    double: bool,
    attributes: u8,
    count: u64,
}

impl Sink {
    /// Begins a file with the attributes of `first`.
    pub fn new(file: File, first: &Cloud, options: &Options) -> Result<Self> {
        let mut sink = Self {
            out: BufWriter::with_capacity(1 << 18, file),
            ascii: options.ascii,
            double: first.origin != [0.0; 3],
            attributes: attributes(first),
            count: 0,
        };
        let header = sink.header();
        sink.out.write_all(header.as_bytes())?;
        Ok(sink)
    }

    /// The header for the vertices so far. Its length does not depend on their number, so that it can be overwritten at
    /// the end.
    fn header(&self) -> String {
        let encoding = if self.ascii {
            "ascii"
        } else {
            "binary_little_endian"
        };
        let number = if self.double { "double" } else { "float" };
        let count = self.count.to_string();
        let pad = "-".repeat(20 - count.len());
        let mut h = format!("ply\nformat {encoding} 1.0\ncomment canopy {pad}\nelement vertex {count}\n");
        for axis in ["x", "y", "z"] {
            h += &format!("property {number} {axis}\n");
        }
        let others = [
            (1, "property ushort intensity\n"),
            (2, "property uchar class\n"),
            (
                4,
                "property uchar return_number\nproperty uchar number_of_returns\n",
            ),
        ];
        for (_, lines) in others.iter().filter(|(flag, _)| self.attributes & flag != 0) {
            h += lines;
        }
        h + "end_header\n"
    }

    fn binary(&mut self, cloud: &Cloud, i: usize) -> Result<()> {
        for a in 0..3 {
            let v = cloud.xyz[i][a];
            if self.double {
                self.out
                    .write_all(&(cloud.origin[a] + f64::from(v)).to_le_bytes())?;
            } else {
                self.out.write_all(&v.to_le_bytes())?;
            }
        }
        if let Some(v) = cloud.intensity.get(i) {
            self.out.write_all(&v.to_le_bytes())?;
        }
        if let Some(&v) = cloud.class.get(i) {
            self.out.write_all(&[v])?;
        }
        if let Some(r) = cloud.returns.get(i) {
            self.out.write_all(&[r.number, r.of])?;
        }
        Ok(())
    }
}

impl sink::Sink for Sink {
    fn write(&mut self, cloud: &Cloud) -> Result<()> {
        ensure!(
            attributes(cloud) == self.attributes && (self.double || cloud.origin == [0.0; 3]),
            "vertex {}: its cloud has other attributes, or another origin, than the first cloud of the file",
            self.count
        );
        for i in 0..cloud.len() {
            if self.ascii {
                write_line(&mut self.out, cloud, i, ' ')?;
            } else {
                self.binary(cloud, i)?;
            }
        }
        self.count += cloud.len() as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let header = self.header();
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(header.as_bytes())?;
        self.out.flush()?;
        Ok(())
    }
}

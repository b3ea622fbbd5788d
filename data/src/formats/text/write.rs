//! Writing lines of numbers.

use std::{
    fs::File,
    io::{BufWriter, Write},
};

use anyhow::{Result, ensure};

use super::super::sink::{self, write_coordinate};
use crate::{Cloud, shard::attributes};

/// Writes `x y z`, then intensity, class, return number and number of returns if the cloud has them, below a line
/// of column names.
pub struct Sink {
    out: BufWriter<File>,
    attributes: u8,
    separator: char,
    points: u64,
}

impl Sink {
    /// Begins a file with the attributes of `first`; `csv`: commas and a header line without `#`.
    pub fn new(file: File, first: &Cloud, csv: bool) -> Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 18, file);
        let mut names = vec!["x", "y", "z"];
        if !first.intensity.is_empty() {
            names.push("intensity");
        }
        if !first.class.is_empty() {
            names.push("class");
        }
        if !first.returns.is_empty() {
            names.extend(["return_number", "number_of_returns"]);
        }
        // Some programs cannot read column names, and x y z does not need them.
        if csv {
            writeln!(out, "{}", names.join(","))?;
        } else if names.len() > 3 {
            writeln!(out, "# {}", names.join(" "))?;
        }
        Ok(Self {
            out,
            attributes: attributes(first),
            separator: if csv { ',' } else { ' ' },
            points: 0,
        })
    }
}

impl sink::Sink for Sink {
    fn write(&mut self, cloud: &Cloud) -> Result<()> {
        ensure!(
            attributes(cloud) == self.attributes,
            "point {}: its cloud has other attributes than the first cloud of the file",
            self.points
        );
        let s = self.separator;
        for (i, p) in cloud.xyz.iter().enumerate() {
            for (a, &v) in p.iter().enumerate() {
                if a > 0 {
                    write!(self.out, "{s}")?;
                }
                write_coordinate(&mut self.out, cloud.origin[a], v)?;
            }
            if let Some(v) = cloud.intensity.get(i) {
                write!(self.out, "{s}{v}")?;
            }
            if let Some(v) = cloud.class.get(i) {
                write!(self.out, "{s}{v}")?;
            }
            if let Some(r) = cloud.returns.get(i) {
                write!(self.out, "{s}{}{s}{}", r.number, r.of)?;
            }
            writeln!(self.out)?;
        }
        self.points += cloud.len() as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.out.flush()?;
        Ok(())
    }
}

//! Writing lines of numbers.

use std::{
    fs::File,
    io::{BufWriter, Write},
};

use anyhow::{Result, ensure};

use super::super::sink::{self, write_line};
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
        for i in 0..cloud.len() {
            write_line(&mut self.out, cloud, i, self.separator)?;
        }
        self.points += cloud.len() as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.out.flush()?;
        Ok(())
    }
}

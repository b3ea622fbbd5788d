//! Writing points as rows of values: lines of text, and binary PLY.

use std::{
    fmt,
    fs::File,
    io::{self, BufWriter, Seek, SeekFrom, Write},
};

use anyhow::{Result, ensure};

use super::stream;
use crate::{Cloud, shard::attributes};

/// What a row looks like.
#[derive(Clone, Copy, PartialEq)]
pub enum Rows {
    /// Values with blanks between them.
    Text,
    /// Values with commas between them, below the names of the columns.
    Csv,
    /// PLY in binary, little endian.
    Ply,
}

/// Flag (see [`attributes`]), name and PLY type of the columns that follow x, y and z.
const COLUMNS: [(u8, &str, &str); 4] = [
    (1, "intensity", "ushort"),
    (2, "class", "uchar"),
    (4, "return_number", "uchar"),
    (4, "number_of_returns", "uchar"),
];

/// Writes `x y z`, then intensity, class, return number and number of returns if the cloud has them.
///
/// Coordinates of PLY are `float` if the cloud's origin is 0, so that they are read back bit-identical, and `double` otherwise.
pub struct Sink {
    out: BufWriter<File>,
    rows: Rows,
    double: bool,
    attributes: u8,
    count: u64,
}

impl Sink {
    /// Begins a file with the attributes of `first`.
    pub fn new(file: File, first: &Cloud, rows: Rows) -> Result<Self> {
        let mut sink = Self {
            out: BufWriter::with_capacity(1 << 18, file),
            rows,
            double: rows != Rows::Ply || first.origin != [0.0; 3],
            attributes: attributes(first),
            count: 0,
        };
        let header = sink.header();
        sink.out.write_all(header.as_bytes())?;
        Ok(sink)
    }

    /// The header for the points so far. Its length does not depend on their number, so that it can be overwritten at the end.
    fn header(&self) -> String {
        let number = if self.double { "double" } else { "float" };
        let mut columns = vec![("x", number), ("y", number), ("z", number)];
        let has = COLUMNS.iter().filter(|c| self.attributes & c.0 != 0);
        columns.extend(has.map(|&(_, name, kind)| (name, kind)));
        let names: Vec<&str> = columns.iter().map(|c| c.0).collect();
        match self.rows {
            Rows::Csv => return names.join(",") + "\n",
            // Some programs cannot read column names, and x y z does not need them.
            Rows::Text if names.len() == 3 => return String::new(),
            Rows::Text => return format!("# {}\n", names.join(" ")),
            Rows::Ply => {}
        }
        let count = self.count.to_string();
        let pad = "-".repeat(20 - count.len());
        let mut h =
            format!("ply\nformat binary_little_endian 1.0\ncomment canopy {pad}\nelement vertex {count}\n");
        for (name, kind) in columns {
            h += &format!("property {kind} {name}\n");
        }
        h + "end_header\n"
    }

    fn row(&mut self, cloud: &Cloud, i: usize) -> io::Result<()> {
        let mut separator = "";
        let mut put = |text: fmt::Arguments<'_>, bytes: &[u8]| {
            if self.rows == Rows::Ply {
                return self.out.write_all(bytes);
            }
            write!(self.out, "{separator}{text}")?;
            separator = if self.rows == Rows::Csv { "," } else { " " };
            Ok(())
        };
        for (origin, v) in cloud.origin.into_iter().zip(cloud.xyz[i]) {
            let metres = origin + f64::from(v);
            let (long, short) = (metres.to_le_bytes(), v.to_le_bytes());
            let bytes = if self.double { &long[..] } else { &short };
            match origin == 0.0 {
                // The shortest digits that parse to the same f32.
                true => put(format_args!("{v}"), bytes)?,
                // To the micrometre, which is finer than an f32 far from its origin.
                false => put(format_args!("{metres:.6}"), bytes)?,
            }
        }
        if let Some(v) = cloud.intensity.get(i) {
            put(format_args!("{v}"), &v.to_le_bytes())?;
        }
        if let Some(&v) = cloud.class.get(i) {
            put(format_args!("{v}"), &[v])?;
        }
        if let Some(r) = cloud.returns.get(i) {
            put(format_args!("{}", r.number), &[r.number])?;
            put(format_args!("{}", r.of), &[r.of])?;
        }
        match self.rows {
            Rows::Ply => Ok(()),
            _ => writeln!(self.out),
        }
    }
}

impl stream::Sink for Sink {
    fn write(&mut self, cloud: &Cloud) -> Result<()> {
        ensure!(
            attributes(cloud) == self.attributes && (self.double || cloud.origin == [0.0; 3]),
            "point {}: its cloud has other attributes, or another origin, than the first cloud of the file",
            self.count
        );
        for i in 0..cloud.len() {
            self.row(cloud, i)?;
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

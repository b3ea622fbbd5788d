//! Reading a PLY file's vertices.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
};

use anyhow::{Context, Result, ensure};

use super::{
    super::{
        frame::{Invalid, Points},
        names::Row,
        source::{PIECE, Source},
    },
    header::{Element, Encoding, Header, Type},
};
use crate::Cloud;

/// The longest line that is read, bytes.
const LONGEST: u64 = 1 << 20;

/// Reads vertices in order.
struct Vertices {
    rows: Rows,
    element: Element,
    next: usize,
    points: Points,
}

/// Opens a PLY file.
pub fn open(file: File, invalid: Invalid) -> Result<Box<dyn Source>> {
    let mut from = BufReader::with_capacity(1 << 18, file);
    let header = Header::read(&mut from)?;
    let mut rows = Rows {
        from,
        encoding: header.encoding,
        line: Vec::new(),
        number: header.lines,
    };
    for element in header.before {
        // Elements without properties have no bytes in a binary file.
        let empty = element.properties.is_empty() && header.encoding != Encoding::Ascii;
        for i in 0..if empty { 0 } else { element.count } {
            rows.read(&element)
                .with_context(|| format!("{} {i} of {}", element.name, element.count))?;
        }
    }
    Ok(Box::new(Vertices {
        rows,
        element: header.vertex,
        next: 0,
        points: Points::new(invalid),
    }))
}

impl Source for Vertices {
    fn next(&mut self) -> Result<Option<Cloud>> {
        let count = self.element.count;
        let end = count.min(self.next.saturating_add(PIECE));
        if self.next == end {
            return Ok(None);
        }
        for i in self.next..end {
            let row = self
                .rows
                .read(&self.element)
                .with_context(|| format!("vertex {i} of {count}"))?;
            self.points.add(row, || format!("vertex {i}"))?;
        }
        self.next = end;
        Ok(Some(self.points.take()))
    }

    fn count(&self) -> Option<u64> {
        Some(self.element.count as u64)
    }

    fn dropped(&self) -> u64 {
        self.points.dropped
    }
}

/// Reads the rows of elements.
struct Rows {
    from: BufReader<File>,
    encoding: Encoding,
    /// The line of an ASCII row, and its number.
    line: Vec<u8>,
    number: usize,
}

impl Rows {
    /// Reads one row of `element`.
    fn read(&mut self, element: &Element) -> Result<Row> {
        let (from, big) = (&mut self.from, self.encoding == Encoding::Big);
        if self.encoding != Encoding::Ascii {
            let next = |(_, size, value): Type| {
                let mut bytes = [0; 8];
                // The buffer has the value, except at its end: this is twice as fast as `read_exact`.
                if let Some(next) = from.buffer().first_chunk() {
                    bytes = *next;
                    from.consume(size);
                } else {
                    from.read_exact(&mut bytes[..size]).ok()?;
                }
                if big {
                    bytes[..size].reverse();
                }
                Some(value(bytes))
            };
            return row(element, next).context("the file is truncated or damaged");
        }
        self.line.clear();
        self.number += 1;
        let n = from.take(LONGEST).read_until(b'\n', &mut self.line)? as u64;
        ensure!(
            n > 0,
            "line {}: expected numbers, found the end: the file is truncated or damaged",
            self.number
        );
        ensure!(n < LONGEST, "line {}: longer than {LONGEST} bytes", self.number);
        let text = String::from_utf8_lossy(&self.line);
        let mut words = text.split_ascii_whitespace();
        row(element, |_| words.next()?.parse().ok()).with_context(|| {
            let quoted: String = text.trim_end().chars().take(60).collect();
            format!("line {}: {quoted:?}", self.number)
        })
    }
}

/// A row of `element`, whose values `next` returns one after another.
fn row(element: &Element, mut next: impl FnMut(Type) -> Option<f64>) -> Result<Row> {
    let mut row = Row::default();
    for property in &element.properties {
        let name = &property.name;
        let v = next(property.length.unwrap_or(property.value))
            .with_context(|| format!("expected a number for {name}"))?;
        if property.length.is_some() {
            ensure!(
                v >= 0.0 && v.fract() == 0.0,
                "expected the length of list {name}, found {v}"
            );
            for _ in 0..v as u64 {
                next(property.value).with_context(|| format!("expected {v} numbers in list {name}"))?;
            }
        } else if let Some(role) = property.role {
            row.set(role, v);
        }
    }
    Ok(row)
}

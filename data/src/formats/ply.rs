//! PLY, the Stanford polygon format: ASCII and binary of either byte order.
//!
//! Only the element `vertex` is used. Its properties may have any type and order; lists and other elements are skipped.
//! Files are read vertex by vertex, so they may be larger than memory.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
};

use anyhow::{Context, Result, ensure};

use super::{
    points::{Points, Role, Row},
    stream::{PIECE, Source},
};
use crate::Cloud;

/// The longest header and the longest line that are read, bytes.
const LONGEST: u64 = 1 << 20;

#[derive(Clone, Copy, PartialEq)]
enum Number {
    Signed,
    Unsigned,
    Float,
}

/// The type of a value, and its bytes in a binary file.
type Type = (Number, usize);

fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "char" | "int8" => (Number::Signed, 1),
        "uchar" | "uint8" => (Number::Unsigned, 1),
        "short" | "int16" => (Number::Signed, 2),
        "ushort" | "uint16" => (Number::Unsigned, 2),
        "int" | "int32" => (Number::Signed, 4),
        "uint" | "uint32" => (Number::Unsigned, 4),
        "float" | "float32" => (Number::Float, 4),
        "double" | "float64" => (Number::Float, 8),
        _ => return None,
    })
}

/// The value in the first `size` of little-endian `bytes`; the others are of another value.
fn value((number, size): Type, bytes: [u8; 8]) -> f64 {
    let shift = 64 - 8 * size as u32;
    let bits = u64::from_le_bytes(bytes) << shift;
    match (number, size) {
        (Number::Signed, _) => (bits as i64 >> shift) as f64,
        (Number::Unsigned, _) => (bits >> shift) as f64,
        (Number::Float, 4) => f32::from_bits((bits >> shift) as u32).into(),
        (Number::Float, _) => f64::from_bits(bits),
    }
}

/// A value of each row of an element, or a list of values.
#[derive(Clone)]
struct Property {
    name: String,
    value: Type,
    /// The type of a list's length; `None` if it is not a list.
    length: Option<Type>,
    /// What the value means, if it is used.
    role: Option<Role>,
}

/// A table in the file.
#[derive(Clone)]
struct Element {
    name: String,
    count: usize,
    properties: Vec<Property>,
}

/// Adds the element or property that `words` describe; `None` if they describe neither.
fn add(elements: &mut Vec<Element>, words: &[&str]) -> Option<()> {
    let (length, value, name) = match *words {
        ["element", name, count] => {
            elements.push(Element {
                name: name.to_owned(),
                count: count.parse().ok()?,
                properties: Vec::new(),
            });
            return Some(());
        }
        ["property", "list", length, value, name] => (Some(type_named(length)?), value, name),
        ["property", value, name] => (None, value, name),
        _ => return None,
    };
    let properties = &mut elements.last_mut()?.properties;
    // Of two properties with the same meaning the first is used.
    let is_new = |role: &Role| length.is_none() && properties.iter().all(|p| p.role != Some(*role));
    properties.push(Property {
        name: name.to_owned(),
        value: type_named(value)?,
        length,
        role: Role::of(name).filter(is_new),
    });
    Some(())
}

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Ascii,
    Little,
    Big,
}

/// Reads vertices in order.
struct Vertices {
    from: BufReader<File>,
    encoding: Encoding,
    /// The line of an ASCII row, and its number.
    line: Vec<u8>,
    number: usize,
    element: Element,
    next: usize,
    points: Points,
}

/// Opens a PLY file.
pub fn open(file: File) -> Result<Box<dyn Source>> {
    let mut from = BufReader::with_capacity(1 << 18, file);
    let (encoding, mut elements, lines) = read_header(&mut from)?;
    let names: Vec<&str> = elements.iter().map(|e| e.name.as_str()).collect();
    let is_vertex = |name: &&str| matches!(*name, "vertex" | "point" | "vertices");
    let at = names.iter().position(is_vertex);
    let at = at.with_context(|| format!("expected an element `vertex`, found {names:?}"))?;
    let element = elements.remove(at);
    for (a, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let names: Vec<&str> = element.properties.iter().map(|p| p.name.as_str()).collect();
        ensure!(
            element.properties.iter().any(|p| p.role == Some(Role::Axis(a))),
            "expected vertices with properties x, y and z, found {names:?} and no {axis}"
        );
    }
    let mut vertices = Vertices {
        from,
        encoding,
        line: Vec::new(),
        number: lines,
        element,
        next: 0,
        points: Points::default(),
    };
    for before in &elements[..at] {
        // Elements without properties have no bytes in a binary file.
        let empty = before.properties.is_empty() && encoding != Encoding::Ascii;
        for i in 0..if empty { 0 } else { before.count } {
            let row = vertices.read(before);
            row.with_context(|| format!("{} {i} of {}", before.name, before.count))?;
        }
    }
    Ok(Box::new(vertices))
}

/// Reads the header and leaves `from` at the first value. Returns the number of its lines, too.
fn read_header(from: &mut impl BufRead) -> Result<(Encoding, Vec<Element>, usize)> {
    let mut from = from.take(LONGEST);
    let (mut encoding, mut elements, mut lines) = (None, Vec::new(), 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        lines += 1;
        ensure!(
            from.read_until(b'\n', &mut line)? > 0,
            "line {lines}: expected more of the header, found the end of the file, or 1 MiB without end_header"
        );
        // Comments and names may be in another encoding.
        let text = String::from_utf8_lossy(&line);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let understood = match words.as_slice() {
            ["end_header"] => break,
            ["format", name, _] => {
                encoding = match *name {
                    "ascii" => Some(Encoding::Ascii),
                    "binary_little_endian" => Some(Encoding::Little),
                    "binary_big_endian" => Some(Encoding::Big),
                    _ => None,
                };
                encoding.is_some()
            }
            ["element" | "property", ..] => add(&mut elements, &words).is_some(),
            [] | ["ply"] | ["comment" | "obj_info", ..] => true,
            _ => false,
        };
        ensure!(
            understood,
            "line {lines}: {:?}: expected `format`, `element` with name and count, `property` with type and name, or `end_header`",
            text.trim_end().chars().take(60).collect::<String>()
        );
    }
    let missing = "no line says the format: expected `format ascii 1.0` or a binary one";
    Ok((encoding.context(missing)?, elements, lines))
}

impl Vertices {
    /// Reads one row of `element`.
    fn read(&mut self, element: &Element) -> Result<Row> {
        let (from, big) = (&mut self.from, self.encoding == Encoding::Big);
        if self.encoding != Encoding::Ascii {
            let next = |kind: Type| {
                let size = kind.1;
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
                Some(value(kind, bytes))
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

impl Source for Vertices {
    fn next(&mut self) -> Result<Option<Cloud>> {
        let element = self.element.clone();
        let end = element.count.min(self.next.saturating_add(PIECE));
        let more = self.next < end;
        for i in self.next..end {
            let row = self
                .read(&element)
                .with_context(|| format!("vertex {i} of {}", element.count))?;
            self.points.add(row, || format!("vertex {i}"))?;
        }
        self.next = end;
        Ok(more.then(|| self.points.take()))
    }

    fn count(&self) -> Option<u64> {
        Some(self.element.count as u64)
    }
}

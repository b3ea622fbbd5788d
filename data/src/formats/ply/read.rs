//! Reading a PLY file's vertices.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
};

use anyhow::{Context, Result, ensure};
use ply_rs_bw::{
    parser::Parser,
    ply::{ElementDef, Encoding, Property, PropertyAccess, PropertyAccessResult, PropertyType},
};

use super::{
    super::{
        frame::Frame,
        names::{Role, to_u8, to_u16},
        source::{Invalid, Opened, Source},
    },
    header::Header,
};
use crate::{Cloud, Return};

/// The longest line that is read, bytes.
const LONGEST: u64 = 1 << 20;

/// The properties of a vertex that a cloud can have.
#[derive(Default)]
pub struct Vertex {
    xyz: [f64; 3],
    intensity: Option<u16>,
    class: Option<u8>,
    returns: Option<Return>,
}

impl Vertex {
    /// The property key under which [`Vertex`] expects the values of `role`.
    pub fn key(role: Role) -> &'static str {
        match role {
            Role::Axis(a) => ["x", "y", "z"][a],
            Role::Intensity => "i",
            Role::Class => "c",
            Role::ReturnNumber => "r",
            Role::ReturnCount => "n",
        }
    }

    fn set(&mut self, key: &str, v: f64) {
        match key.as_bytes() {
            b"x" => self.xyz[0] = v,
            b"y" => self.xyz[1] = v,
            b"z" => self.xyz[2] = v,
            b"i" => self.intensity = Some(to_u16(v)),
            b"c" => self.class = Some(to_u8(v)),
            b"r" => self.returns.get_or_insert_default().number = to_u8(v),
            b"n" => self.returns.get_or_insert_default().of = to_u8(v),
            _ => {}
        }
    }

    /// Parses a line of numbers. ply-rs-bw refuses `nan` and `.5`, which other programs write.
    fn parse(line: &str, element: &ElementDef) -> Result<Self> {
        let mut vertex = Self::default();
        let mut words = line.split_ascii_whitespace();
        for (key, property) in &element.properties {
            let number = words.next().and_then(|w| w.parse::<f64>().ok());
            let v = number.with_context(|| format!("expected a number for {}", property.name))?;
            if let PropertyType::List(..) = property.data_type {
                ensure!(
                    v >= 0.0 && v.fract() == 0.0,
                    "expected the length of list {}, found {v}",
                    property.name
                );
                ensure!(
                    words.by_ref().take(v as usize).count() as f64 == v,
                    "expected {v} numbers in list {}",
                    property.name
                );
            } else {
                vertex.set(key, v);
            }
        }
        Ok(vertex)
    }
}

impl PropertyAccess for Vertex {
    fn new() -> Self {
        Self::default()
    }

    fn set_property(&mut self, key: &str, property: Property) -> PropertyAccessResult {
        let v = match property {
            Property::Char(v) => v.into(),
            Property::UChar(v) => v.into(),
            Property::Short(v) => v.into(),
            Property::UShort(v) => v.into(),
            Property::Int(v) => v.into(),
            Property::UInt(v) => v.into(),
            Property::Float(v) => v.into(),
            Property::Double(v) => v,
            _ => return PropertyAccessResult::Ignored,
        };
        self.set(key, v);
        PropertyAccessResult::Set
    }
}

/// Reads vertices in order.
struct Vertices {
    from: BufReader<File>,
    encoding: Encoding,
    parser: Parser<Vertex>,
    element: ElementDef,
    next: usize,
    frame: Frame,
    line: Vec<u8>,
    number: usize,
}

/// Opens a PLY file.
pub fn open(file: File, invalid: Invalid) -> Result<Opened> {
    let mut from = BufReader::with_capacity(1 << 18, file);
    let header = Header::read(&mut from)?;
    let count = header.vertex.count as u64;
    let mut vertices = Vertices {
        from,
        encoding: header.encoding,
        parser: Parser::new(),
        element: header.vertex,
        next: 0,
        frame: Frame::new(invalid),
        line: Vec::new(),
        number: header.lines,
    };
    for element in header.before {
        // Elements without properties have no bytes in a binary file.
        let empty = element.properties.is_empty() && vertices.encoding != Encoding::Ascii;
        for i in 0..if empty { 0 } else { element.count } {
            vertices
                .read(&element)
                .with_context(|| format!("{} {i} of {}", element.name, element.count))?;
        }
    }
    Ok(Opened {
        count: Some(count),
        grid: None,
        source: Box::new(vertices),
    })
}

impl Vertices {
    /// Reads one `element`. The values of others than vertices are ignored.
    fn read(&mut self, element: &ElementDef) -> Result<Vertex> {
        let truncated = "the file is truncated or damaged";
        match self.encoding {
            Encoding::Ascii => {
                self.line.clear();
                self.number += 1;
                let n = (&mut self.from).take(LONGEST).read_until(b'\n', &mut self.line)?;
                ensure!(
                    n > 0,
                    "line {}: expected numbers, found the end: {truncated}",
                    self.number
                );
                ensure!(
                    (n as u64) < LONGEST,
                    "line {}: longer than {LONGEST} bytes",
                    self.number
                );
                let text = String::from_utf8_lossy(&self.line);
                Vertex::parse(&text, element).with_context(|| {
                    let quoted: String = text.trim_end().chars().take(60).collect();
                    format!("line {}: {quoted:?}", self.number)
                })
            }
            Encoding::BinaryLittleEndian => self
                .parser
                .read_little_endian_element(&mut self.from, element)
                .context(truncated),
            Encoding::BinaryBigEndian => self
                .parser
                .read_big_endian_element(&mut self.from, element)
                .context(truncated),
        }
    }
}

impl Source for Vertices {
    fn fill(&mut self, out: &mut Cloud, max: usize) -> Result<usize> {
        let n = (self.element.count - self.next).min(max);
        let element = self.element.clone();
        for _ in 0..n {
            let next = self.next;
            let vertex = self
                .read(&element)
                .with_context(|| format!("vertex {next} of {}", element.count))?;
            if let Some(p) = self.frame.place(vertex.xyz, || format!("vertex {next}"))? {
                out.xyz.push(p);
                out.intensity.extend(vertex.intensity);
                out.class.extend(vertex.class);
                out.returns.extend(vertex.returns);
            }
            self.next += 1;
        }
        out.origin = self.frame.origin();
        Ok(n)
    }

    fn dropped(&self) -> u64 {
        self.frame.dropped
    }
}

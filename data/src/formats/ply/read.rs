//! Reading a PLY file's vertices.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
};

use anyhow::{Context, Result, ensure};
use ply_rs_bw::{
    parser::Parser,
    ply::{ElementDef, Encoding},
};

use super::{
    super::{
        frame::Frame,
        source::{Invalid, Opened, Source},
    },
    header::Header,
    vertex::Vertex,
};
use crate::Cloud;

/// The longest line that is read, bytes.
const LONGEST: u64 = 1 << 20;

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

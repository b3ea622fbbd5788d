//! Reading a PLY file's vertices.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek},
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    super::{
        frame::Frame,
        names::{Role, to_u8, to_u16},
        reader::{Invalid, Source},
    },
    header::{Element, Encoding, Header},
};
use crate::{Cloud, Return};

/// A longer line is no line of numbers.
const LONGEST: u64 = 1 << 20;

/// Reads vertices one after another.
pub struct Vertices {
    from: BufReader<File>,
    encoding: Encoding,
    element: Element,
    /// What each property is, if it is known.
    roles: Vec<Option<Role>>,
    has_return: bool,
    next: u64,
    frame: Frame,
    /// One vertex, as bytes or as a line.
    row: Vec<u8>,
    line: u64,
}

/// Opens a PLY file of `len` bytes: how many vertices it has, and what reads them.
pub fn open(file: File, len: u64, invalid: Invalid) -> Result<(Option<u64>, Box<dyn Source>)> {
    let mut from = BufReader::with_capacity(1 << 18, file);
    let mut header = Header::read(&mut from)?;
    let names: Vec<_> = header.elements.iter().map(|e| e.name.clone()).collect();
    let at = header
        .elements
        .iter()
        .position(|e| matches!(e.name.as_str(), "vertex" | "point" | "vertices"));
    let at = at.with_context(|| format!("expected an element `vertex`, found {names:?}"))?;
    let element = header.elements.swap_remove(at);
    let roles = roles(&element)?;
    let mut vertices = Vertices {
        encoding: header.encoding,
        has_return: roles
            .iter()
            .flatten()
            .any(|r| matches!(r, Role::ReturnNumber | Role::ReturnCount)),
        roles,
        next: 0,
        frame: Frame::new(invalid),
        row: Vec::new(),
        line: header.lines,
        from,
        element,
    };
    // `swap_remove` put the last element at `at`; those before it are untouched.
    for before in &header.elements[..at] {
        vertices
            .skip(before, len)
            .with_context(|| format!("element {}", before.name))?;
    }
    vertices.check_room(len)?;
    Ok((Some(vertices.element.count), Box::new(vertices)))
}

fn roles(vertex: &Element) -> Result<Vec<Option<Role>>> {
    let mut roles: Vec<Option<Role>> = Vec::new();
    for p in &vertex.properties {
        let role = Role::of(&p.name).filter(|r| p.list.is_none() && !roles.contains(&Some(*r)));
        roles.push(role);
    }
    for (a, axis) in ["x", "y", "z"].iter().enumerate() {
        let names: Vec<_> = vertex.properties.iter().map(|p| &p.name).collect();
        ensure!(
            roles.contains(&Some(Role::Axis(a))),
            "expected vertices with properties x, y and z, found {names:?}, and no {axis}"
        );
    }
    Ok(roles)
}

impl Vertices {
    /// Refuses a count that the rest of the file cannot hold.
    fn check_room(&mut self, len: u64) -> Result<()> {
        let left = len.saturating_sub(self.from.stream_position()?);
        let least = match self.encoding {
            // A digit and a blank or line end for each; the last line may lack its end.
            Encoding::Ascii => 2 * self.element.properties.len() as u64,
            _ => self
                .element
                .properties
                .iter()
                .map(|p| p.list.unwrap_or(p.of).size() as u64)
                .sum(),
        };
        let holds = (left + 1) / least.max(1);
        ensure!(
            self.element.count <= holds,
            "the header says {} vertices, the {left} bytes after it hold at most {holds}: the file is truncated, copy or download it again",
            self.element.count
        );
        Ok(())
    }

    /// Passes over an element that stands before the vertices.
    fn skip(&mut self, element: &Element, len: u64) -> Result<()> {
        if self.encoding != Encoding::Ascii
            && let Some(stride) = element.stride()
        {
            let bytes = element.count.checked_mul(stride as u64);
            let left = len.saturating_sub(self.from.stream_position()?);
            let bytes = bytes.filter(|&b| b <= left);
            let bytes = bytes.with_context(|| {
                format!(
                    "{} times {stride} bytes do not fit into the {left} that are left: the file is truncated",
                    element.count
                )
            })?;
            self.from.seek_relative(bytes as i64)?;
            return Ok(());
        }
        for i in 0..element.count {
            self.read_row(element)
                .with_context(|| format!("number {i} of {}", element.count))?;
        }
        Ok(())
    }

    /// Reads one thing into `row`: its line, or the bytes of its single numbers with lists left out.
    fn read_row(&mut self, element: &Element) -> Result<()> {
        self.row.clear();
        if self.encoding == Encoding::Ascii {
            let n = (&mut self.from).take(LONGEST).read_until(b'\n', &mut self.row)?;
            self.line += 1;
            ensure!(
                n > 0,
                "line {}: expected numbers, found the end of the file: it is truncated",
                self.line
            );
            ensure!(
                (n as u64) < LONGEST,
                "line {}: longer than {LONGEST} bytes",
                self.line
            );
            return Ok(());
        }
        for p in &element.properties {
            let at = self.row.len();
            self.row.resize(at + p.list.unwrap_or(p.of).size(), 0);
            self.from
                .read_exact(&mut self.row[at..])
                .context("the file is truncated")?;
            if let Some(length) = p.list {
                let n = length.value(&self.row[at..], self.encoding == Encoding::Big);
                ensure!(n >= 0.0, "expected the length of list {}, found {n}", p.name);
                self.row.truncate(at);
                let bytes = n as u64 * p.of.size() as u64;
                let passed = std::io::copy(&mut (&mut self.from).take(bytes), &mut std::io::sink())?;
                ensure!(
                    passed == bytes,
                    "list {} of {n} does not fit into the file: it is truncated or damaged",
                    p.name
                );
            }
        }
        Ok(())
    }

    fn take_vertex(&mut self, out: &mut Cloud) -> Result<()> {
        let mut p = [0.0; 3];
        let (mut intensity, mut class, mut back) = (None, None, Return::default());
        let mut take = |role: Option<Role>, v: f64| match role {
            Some(Role::Axis(a)) => p[a] = v,
            Some(Role::Intensity) => intensity = Some(to_u16(v)),
            Some(Role::Class) => class = Some(to_u8(v)),
            Some(Role::ReturnNumber) => back.number = to_u8(v),
            Some(Role::ReturnCount) => back.of = to_u8(v),
            None => {}
        };
        let properties = self.element.properties.iter().zip(&self.roles);
        if self.encoding == Encoding::Ascii {
            let text = std::str::from_utf8(&self.row).unwrap_or_default();
            let mut words = text.split_ascii_whitespace();
            for (property, &role) in properties {
                let mut number = || words.next().and_then(|w| w.parse::<f64>().ok());
                let Some(v) = number() else {
                    bail!(
                        "line {}: expected a number for {}, found {:?}",
                        self.line,
                        property.name,
                        text.trim_end().chars().take(60).collect::<String>()
                    );
                };
                if property.list.is_some() {
                    ensure!(
                        v >= 0.0 && v.fract() == 0.0,
                        "line {}: expected the length of list {}, found {v}",
                        self.line,
                        property.name
                    );
                    ensure!(
                        words.by_ref().take(v as usize).count() as f64 == v,
                        "line {}: list {} ends early",
                        self.line,
                        property.name
                    );
                } else {
                    take(role, v);
                }
            }
        } else {
            let mut at = 0;
            for (property, &role) in properties.filter(|(p, _)| p.list.is_none()) {
                if role.is_some() {
                    take(
                        role,
                        property.of.value(&self.row[at..], self.encoding == Encoding::Big),
                    );
                }
                at += property.of.size();
            }
        }
        let next = self.next;
        if let Some(q) = self.frame.place(p, || format!("vertex {next}"))? {
            out.xyz.push(q);
            out.intensity.extend(intensity);
            out.class.extend(class);
            out.returns.extend(self.has_return.then_some(back));
        }
        Ok(())
    }
}

impl Source for Vertices {
    fn fill(&mut self, out: &mut Cloud, max: usize) -> Result<usize> {
        let n = (self.element.count - self.next).min(max as u64);
        let element = self.element.clone();
        for _ in 0..n {
            let next = self.next;
            self.read_row(&element)
                .with_context(|| format!("vertex {next} of {}", element.count))?;
            self.take_vertex(out)?;
            self.next += 1;
        }
        out.origin = self.frame.origin();
        Ok(n as usize)
    }

    fn dropped(&self) -> u64 {
        self.frame.dropped
    }
}

//! A PLY file's header.

use std::{
    collections::HashSet,
    io::{BufRead, ErrorKind, Read},
};

use anyhow::{Context, Result, anyhow, ensure};
use ply_rs_bw::{
    parser::{Parser, Reader},
    ply::{ElementDef, Encoding, PropertyDef, PropertyType},
};

use super::{super::names::Role, vertex::Vertex};

/// The longest header that is read, bytes.
const LONGEST: u64 = 1 << 20;

/// The elements that precede the vertices, and the vertices.
pub struct Header {
    pub encoding: Encoding,
    pub before: Vec<ElementDef>,
    pub vertex: ElementDef,
    /// Length of the header in lines.
    pub lines: usize,
}

impl Header {
    /// Reads the header and leaves `from` at the first value.
    ///
    /// # Errors
    /// Names the line, what was expected and what was found.
    pub fn read(from: &mut impl BufRead) -> Result<Self> {
        let lines = Lines::read(from)?;
        let parsed = Parser::<Vertex>::new().read_header(&mut Reader::new(lines.plain.as_bytes()));
        let parsed = parsed.map_err(|e| match (e.kind(), e.line()) {
            (ErrorKind::UnexpectedEof, _) => anyhow!(
                "line {}: expected more of the header, found the end of the file, or 1 MiB without end_header",
                lines.quoted.len() + 1
            ),
            (_, Some(n)) if n <= lines.quoted.len() => anyhow!(
                "line {n}: {:?}: expected `format`, `element` with name and count, `property` with type and name, or `end_header`",
                lines.quoted[n - 1]
            ),
            _ => anyhow!("{e}"),
        })?;
        let mut elements: Vec<ElementDef> = parsed.elements.into_values().collect();
        for (element, name) in elements.iter_mut().zip(&lines.elements) {
            name.clone_into(&mut element.name);
        }
        let is_vertex = |name: &String| matches!(name.as_str(), "vertex" | "point" | "vertices");
        let at = lines.elements.iter().position(is_vertex);
        let at = at.with_context(|| format!("expected an element `vertex`, found {:?}", lines.elements))?;
        elements.truncate(at + 1);
        let mut vertex = elements.pop().context("no vertex")?;
        let first: usize = elements.iter().map(|e| e.properties.len()).sum();
        assign_roles(&mut vertex, &lines.properties[first..])?;
        Ok(Self {
            encoding: parsed.encoding,
            before: elements,
            vertex,
            lines: lines.quoted.len(),
        })
    }
}

/// A header as ply-rs-bw expects it: without comments, which may not be UTF-8, and with other names of elements and
/// properties. It refuses names such as `scalar_Roughness_(0.1)`, and merges those that occur twice.
#[derive(Default)]
struct Lines {
    plain: String,
    /// Each line as it was, for messages.
    quoted: Vec<String>,
    elements: Vec<String>,
    properties: Vec<String>,
}

impl Lines {
    fn read(from: &mut impl BufRead) -> Result<Self> {
        let mut from = from.take(LONGEST);
        let mut lines = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            // The parser reports that `end_header` is missing.
            if from.read_until(b'\n', &mut line)? == 0 {
                return Ok(lines);
            }
            let text = String::from_utf8_lossy(&line);
            let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
            lines.quoted.push(text.trim_end().chars().take(60).collect());
            let unique;
            match words.as_mut_slice() {
                [] | ["comment" | "obj_info", ..] => words = vec!["comment"],
                ["element", name, _] => {
                    unique = format!("e{}", lines.elements.len());
                    lines.elements.push((*name).to_owned());
                    *name = &unique;
                }
                ["property", .., name] => {
                    unique = format!("p{}", lines.properties.len());
                    lines.properties.push((*name).to_owned());
                    *name = &unique;
                }
                _ => {}
            }
            lines.plain += &words.join(" ");
            lines.plain.push('\n');
            if words == ["end_header"] {
                return Ok(lines);
            }
        }
    }
}

/// Gives the properties of `vertex` their `names`, and those that are known the keys that [`Vertex`] expects.
fn assign_roles(vertex: &mut ElementDef, names: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    let properties = std::mem::take(&mut vertex.properties);
    for ((key, p), name) in properties.into_iter().zip(names) {
        let scalar = matches!(p.data_type, PropertyType::Scalar(_));
        let known = Role::of(name)
            .map(Vertex::key)
            .filter(|k| scalar && seen.insert(*k));
        let key = known.map_or(key, str::to_owned);
        let property = PropertyDef::new(name.clone(), p.data_type);
        vertex.properties.insert(key, property);
    }
    for axis in ["x", "y", "z"] {
        ensure!(
            seen.contains(axis),
            "expected vertices with properties x, y and z, found {names:?} and no {axis}"
        );
    }
    Ok(())
}

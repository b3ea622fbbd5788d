//! A PLY file's header.

use std::io::{BufRead, Read};

use anyhow::{Context, Result, ensure};

use super::super::names::Role;

/// The longest header that is read, bytes.
const LONGEST: u64 = 1 << 20;

/// How values are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoding {
    Ascii,
    Little,
    Big,
}

/// The type of a property: its names, its bytes in a binary file, and the value in the first bytes, little endian.
pub type Type = ([&'static str; 2], usize, fn([u8; 8]) -> f64);

static TYPES: [Type; 8] = [
    (["char", "int8"], 1, |[a, ..]| f64::from(a as i8)),
    (["uchar", "uint8"], 1, |[a, ..]| f64::from(a)),
    (["short", "int16"], 2, |[a, b, ..]| {
        i16::from_le_bytes([a, b]).into()
    }),
    (["ushort", "uint16"], 2, |[a, b, ..]| {
        u16::from_le_bytes([a, b]).into()
    }),
    (["int", "int32"], 4, |[a, b, c, d, ..]| {
        i32::from_le_bytes([a, b, c, d]).into()
    }),
    (["uint", "uint32"], 4, |[a, b, c, d, ..]| {
        u32::from_le_bytes([a, b, c, d]).into()
    }),
    (["float", "float32"], 4, |[a, b, c, d, ..]| {
        f32::from_le_bytes([a, b, c, d]).into()
    }),
    (["double", "float64"], 8, f64::from_le_bytes),
];

fn type_named(name: &str) -> Option<Type> {
    TYPES.into_iter().find(|(names, ..)| names.contains(&name))
}

/// A value of each row of an element, or a list of values.
#[derive(Clone, Debug)]
pub struct Property {
    pub name: String,
    pub value: Type,
    /// The type of a list's length; `None` if it is not a list.
    pub length: Option<Type>,
    /// What the value means, if it is used.
    pub role: Option<Role>,
}

/// A table in the file.
#[derive(Clone, Debug)]
pub struct Element {
    pub name: String,
    pub count: usize,
    pub properties: Vec<Property>,
}

/// The elements that precede the vertices, and the vertices.
pub struct Header {
    pub encoding: Encoding,
    pub before: Vec<Element>,
    pub vertex: Element,
    /// Length of the header in lines.
    pub lines: usize,
}

impl Header {
    /// Reads the header and leaves `from` at the first value.
    ///
    /// # Errors
    /// Names the line, what was expected and what was found.
    pub fn read(from: &mut impl BufRead) -> Result<Self> {
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
        let encoding =
            encoding.context("no line says the format: expected `format ascii 1.0` or a binary one")?;
        let names: Vec<&str> = elements.iter().map(|e| e.name.as_str()).collect();
        let is_vertex = |name: &&str| matches!(*name, "vertex" | "point" | "vertices");
        let at = names.iter().position(is_vertex);
        let at = at.with_context(|| format!("expected an element `vertex`, found {names:?}"))?;
        elements.truncate(at + 1);
        let vertex = elements.pop().context("no vertex")?;
        for (a, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let names: Vec<&str> = vertex.properties.iter().map(|p| p.name.as_str()).collect();
            ensure!(
                vertex.properties.iter().any(|p| p.role == Some(Role::Axis(a))),
                "expected vertices with properties x, y and z, found {names:?} and no {axis}"
            );
        }
        Ok(Self {
            encoding,
            before: elements,
            vertex,
            lines,
        })
    }
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
    let role =
        Role::of(name).filter(|role| length.is_none() && properties.iter().all(|p| p.role != Some(*role)));
    properties.push(Property {
        name: name.to_owned(),
        value: type_named(value)?,
        length,
        role,
    });
    Some(())
}

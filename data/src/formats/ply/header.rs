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

/// The type of a property.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Type {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of a value in a binary file.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The value in the first bytes of `b`, little endian.
    pub fn value(self, b: [u8; 8]) -> f64 {
        let [b0, b1, b2, b3, ..] = b;
        match self {
            Self::I8 => f64::from(b0 as i8),
            Self::U8 => f64::from(b0),
            Self::I16 => f64::from(i16::from_le_bytes([b0, b1])),
            Self::U16 => f64::from(u16::from_le_bytes([b0, b1])),
            Self::I32 => f64::from(i32::from_le_bytes([b0, b1, b2, b3])),
            Self::U32 => f64::from(u32::from_le_bytes([b0, b1, b2, b3])),
            Self::F32 => f64::from(f32::from_le_bytes([b0, b1, b2, b3])),
            Self::F64 => f64::from_le_bytes(b),
        }
    }
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
        ["property", "list", length, value, name] => (Some(Type::named(length)?), value, name),
        ["property", value, name] => (None, value, name),
        _ => return None,
    };
    let properties = &mut elements.last_mut()?.properties;
    // Of two properties with the same meaning the first is used.
    let role =
        Role::of(name).filter(|role| length.is_none() && properties.iter().all(|p| p.role != Some(*role)));
    properties.push(Property {
        name: name.to_owned(),
        value: Type::named(value)?,
        length,
        role,
    });
    Some(())
}

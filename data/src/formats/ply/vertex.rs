//! A vertex of a PLY file.

use anyhow::{Context, Result, ensure};
use ply_rs_bw::ply::{ElementDef, Property, PropertyAccess, PropertyAccessResult, PropertyType};

use super::super::names::{Role, to_u8, to_u16};
use crate::Return;

/// The properties of a vertex that a cloud can have.
#[derive(Default)]
pub struct Vertex {
    pub xyz: [f64; 3],
    pub intensity: Option<u16>,
    pub class: Option<u8>,
    pub returns: Option<Return>,
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

    pub fn set(&mut self, key: &str, v: f64) {
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
    pub fn parse(line: &str, element: &ElementDef) -> Result<Self> {
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

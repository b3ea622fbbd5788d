//! The meaning of columns and properties, from the names that programs give them.

use crate::Return;

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// x, y or z: 0, 1, 2.
    Axis(usize),
    Intensity,
    Class,
    ReturnNumber,
    ReturnCount,
}

impl Role {
    /// The meaning of a column named `name`: `X`, `"x [m]"`, `//X`, `scalar_Intensity`, `Classification`, …
    pub fn of(name: &str) -> Option<Self> {
        let bare = name.split(['[', '(']).next().unwrap_or(name);
        let mut key: String = bare.chars().filter(char::is_ascii_alphanumeric).collect();
        key.make_ascii_lowercase();
        let key = key.strip_prefix("scalar").unwrap_or(&key);
        Some(match key {
            "x" | "easting" | "xcoordinate" => Self::Axis(0),
            "y" | "northing" | "ycoordinate" => Self::Axis(1),
            "z" | "elevation" | "height" | "zcoordinate" => Self::Axis(2),
            "i" | "intensity" | "reflectance" | "amplitude" => Self::Intensity,
            "class" | "classification" => Self::Class,
            "returnnumber" | "returnnum" | "rn" => Self::ReturnNumber,
            "numberofreturns" | "numreturns" | "nr" => Self::ReturnCount,
            _ => return None,
        })
    }
}

/// The values of one point. Numbers are rounded and clamped to the attribute's range; NaN becomes 0.
#[derive(Default)]
pub struct Row {
    pub xyz: [f64; 3],
    pub intensity: Option<u16>,
    pub class: Option<u8>,
    pub returns: Option<Return>,
}

impl Row {
    /// Sets the value of `role`.
    pub fn set(&mut self, role: Role, v: f64) {
        match role {
            Role::Axis(a) => self.xyz[a] = v,
            Role::Intensity => self.intensity = Some(v.round() as u16),
            Role::Class => self.class = Some(v.round() as u8),
            Role::ReturnNumber => self.returns.get_or_insert_default().number = v.round() as u8,
            Role::ReturnCount => self.returns.get_or_insert_default().of = v.round() as u8,
        }
    }
}

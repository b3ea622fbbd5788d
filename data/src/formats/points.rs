//! From columns and properties, whose meaning their names give, to the points of a cloud: an origin in whole metres and
//! f32 offsets.

use anyhow::{Result, ensure};

use crate::{Cloud, Return};

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

/// Coordinates below this keep the origin 0: an f32 represents them to 0.03 mm, and what was written is read back
/// bit-identical.
const NEAR: f64 = 1000.0;

/// The origin for a cloud with the point `p`: along each axis 0, or whole metres if `p` is far from 0.
pub fn origin_of(p: [f64; 3]) -> [f64; 3] {
    p.map(|c| if c.abs() < NEAR { 0.0 } else { c.floor() })
}

/// The points of a file as they are read, relative to the origin.
#[derive(Debug, Default)]
pub struct Points {
    /// Determined by the first point.
    origin: Option<[f64; 3]>,
    cloud: Cloud,
}

impl Points {
    /// Adds a point.
    ///
    /// # Errors
    /// Returns an error if a coordinate is not finite.
    pub fn add(&mut self, row: Row) -> Result<()> {
        let p = row.xyz;
        let o = *self.origin.get_or_insert_with(|| origin_of(p));
        let q = [0, 1, 2].map(|a| (p[a] - o[a]) as f32);
        ensure!(
            q.iter().all(|c| c.is_finite()),
            "expected finite coordinates, found {p:?}; correct the point, or remove it"
        );
        self.cloud.xyz.push(q);
        self.cloud.intensity.extend(row.intensity);
        self.cloud.class.extend(row.class);
        self.cloud.returns.extend(row.returns);
        Ok(())
    }

    /// The points that were added.
    pub fn cloud(self) -> Cloud {
        Cloud {
            origin: self.origin.unwrap_or_default(),
            ..self.cloud
        }
    }
}

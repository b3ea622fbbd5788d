//! The meaning of columns and properties, from the names that programs give them.

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

/// A number from a text or float column as a `u16`: rounded and clamped; NaN becomes 0.
pub fn to_u16(v: f64) -> u16 {
    v.round() as u16
}

/// A number from a text or float column as a `u8`: rounded and clamped; NaN becomes 0.
pub fn to_u8(v: f64) -> u8 {
    v.round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_common_programs_are_known() {
        for (name, role) in [
            ("X", Role::Axis(0)),
            ("//X", Role::Axis(0)),
            ("\"y [m]\"", Role::Axis(1)),
            ("Elevation", Role::Axis(2)),
            ("scalar_Intensity", Role::Intensity),
            ("Classification", Role::Class),
            ("scalar_ReturnNumber", Role::ReturnNumber),
            ("number_of_returns", Role::ReturnCount),
        ] {
            assert_eq!(Role::of(name), Some(role), "{name}");
        }
        assert_eq!(Role::of("red"), None);
        assert_eq!(Role::of("12.5"), None);
    }

    #[test]
    fn numbers_outside_a_range_are_clamped() {
        assert_eq!(
            [to_u16(-3.0), to_u16(7.6), to_u16(1e9), to_u16(f64::NAN)],
            [0, 8, 65535, 0]
        );
        assert_eq!([to_u8(-3.0), to_u8(5.0), to_u8(300.0)], [0, 5, 255]);
    }
}

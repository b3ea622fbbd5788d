//! How the setting `points` is written: a number above 0, or `all`, which is 0 in [`Config`](super::Config).

use serde::{Deserializer, Serializer, de::Error};

use super::by_text;

const ALL: &str = "all";

/// Reads the setting as it is written on the command line.
///
/// # Errors
/// Returns an error if it is neither `all` nor a number above 0.
pub fn parse(text: &str) -> Result<usize, String> {
    match text.parse() {
        _ if text == ALL => Ok(0),
        Ok(n) if n > 0 => Ok(n),
        _ => Err(format!(
            "points is '{text}': it must be a number above 0, or {ALL}"
        )),
    }
}

/// Writes the setting.
pub fn serialize<S: Serializer>(points: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    match points {
        0 => serializer.serialize_str(ALL),
        n => serializer.serialize_u64(*n as u64),
    }
}

/// Reads the setting.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    parse(&by_text::word(deserializer)?).map_err(D::Error::custom)
}

//! Serde of a setting that is written as one word, such as `step:20:0.7`; a bare number is read as well.

use std::{fmt::Display, str::FromStr};

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes the setting as [`Display`] does.
pub fn serialize<T: Display, S: Serializer>(setting: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(setting)
}

/// Reads the setting as [`FromStr`] does.
pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err = anyhow::Error>,
    D: Deserializer<'de>,
{
    let parsed = word(deserializer)?.parse();
    parsed.map_err(|error: anyhow::Error| D::Error::custom(format!("{error:#}")))
}

/// Reads a word, or a number as a word.
fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(String),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Number(number) => number.to_string(),
        Written::Word(word) => word,
    })
}

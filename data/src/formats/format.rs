//! The formats and their names.

use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// ASPRS LAS 1.0 to 1.4.
    Las,
    /// LAS compressed by LASzip; COPC files too.
    Laz,
    /// The Stanford polygon format, ASCII or binary.
    Ply,
    /// A point per line: XYZ, PTS, TXT, CSV, ASC.
    Text,
    /// Clouds in safetensors: see [`crate::shard`].
    Shard,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] = [Self::Las, Self::Laz, Self::Ply, Self::Text, Self::Shard];

    /// The format of the extension of `path`, if any.
    pub fn from_path(path: &Path) -> Option<Self> {
        let ext = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|f| f.extensions().contains(&ext.as_str()))
    }

    /// Its name in messages; file name extensions in lower case, the usual one first; and how a file begins.
    pub(super) fn facts(self) -> (&'static str, &'static [&'static str], &'static str) {
        match self {
            Self::Las => ("LAS", &["las"], "\"LASF\""),
            Self::Laz => ("LAZ", &["laz"], "\"LASF\""),
            Self::Ply => ("PLY", &["ply"], "\"ply\""),
            Self::Text => ("text", &["xyz", "pts", "txt", "csv", "asc"], "lines of numbers"),
            Self::Shard => ("shard", &["safetensors"], "a safetensors header"),
        }
    }

    /// File name extensions in lower case, the usual one first.
    pub fn extensions(self) -> &'static [&'static str] {
        self.facts().1
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        self.facts().0
    }
}

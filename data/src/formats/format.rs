//! Which format a file has: from its first bytes if they identify one, else from its name.

use std::path::Path;

use anyhow::{Result, bail, ensure};

use super::text;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// ASPRS LAS 1.0 to 1.4.
    Las,
    /// LAS compressed by LASzip; COPC files too.
    Laz,
    /// A point per line: XYZ, PTS, TXT, CSV, ASC.
    Text,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Las, Self::Laz, Self::Text];

    /// The format of the extension of `path`, if any.
    pub fn from_path(path: &Path) -> Option<Self> {
        let ext = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|f| f.extensions().contains(&ext.as_str()))
    }

    /// Its name in messages; file name extensions in lower case, the usual one first; and how a file begins.
    fn facts(self) -> (&'static str, &'static [&'static str], &'static str) {
        match self {
            Self::Las => ("LAS", &["las"], "\"LASF\""),
            Self::Laz => ("LAZ", &["laz"], "\"LASF\""),
            Self::Text => ("text", &["xyz", "pts", "txt", "csv", "asc"], "lines of numbers"),
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

/// The format of a file named `path` that begins with `head` (its first 1024 bytes, or all).
///
/// # Errors
/// Returns an error if neither identifies a format, or the first bytes contradict the name.
pub(super) fn detect(path: &Path, head: &[u8]) -> Result<Format> {
    ensure!(
        !head.is_empty(),
        "the file is empty (0 bytes): copy or download it again"
    );
    if head.starts_with(b"LASF") {
        // Bit 7 of the point format, byte 104, is set by LASzip.
        let compressed = head.get(104).is_some_and(|f| f & 0x80 != 0);
        return Ok(if compressed { Format::Laz } else { Format::Las });
    }
    // The length of safetensors' header, at most 100 MB, then the header: a JSON object.
    if let Some([0..6, 0, 0, 0, 0, b'{']) = head.get(3..9) {
        bail!("is safetensors: if it is a shard of a data set, give the folder that has its dataset.json");
    }
    ensure!(
        !head.starts_with(&[0xff, 0xfe]) && !head.starts_with(&[0xfe, 0xff]),
        "text in UTF-16: save it as UTF-8"
    );
    let by_name = Format::from_path(path);
    if by_name == Some(Format::Text) && !head.contains(&0) || text::looks_numeric(head) {
        return Ok(Format::Text);
    }
    let found = head.escape_ascii().to_string();
    let found = found.get(..32).unwrap_or(&found);
    let Some(format) = by_name else {
        bail!("begins with \"{found}\": expected LAS, LAZ, COPC, or lines of x y z")
    };
    let (name, _, begin) = format.facts();
    bail!("byte 0: expected {begin}, found \"{found}\": not a {name} file, or damaged")
}

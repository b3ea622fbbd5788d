//! Which format a file is in: by its first bytes where they tell, else by its name.

use std::{fmt, path::Path};

use anyhow::{Result, bail, ensure};

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// ASPRS LAS 1.0 to 1.4.
    Las,
    /// LAS compressed by LASzip; COPC files too.
    Laz,
    /// Stanford's polygon format, ASCII or binary.
    Ply,
    /// Numbers in lines: XYZ, PTS, TXT, CSV, ASC.
    Text,
    /// One of our shards: see [`crate::shard`].
    Shard,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] = [Self::Las, Self::Laz, Self::Ply, Self::Text, Self::Shard];

    /// The format that the name of `path` stands for, if any.
    pub fn from_path(path: &Path) -> Option<Self> {
        let ext = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|f| f.extensions().contains(&ext.as_str()))
    }

    /// File name extensions, in lower case, the usual one first.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Las => &["las"],
            Self::Laz => &["laz"],
            Self::Ply => &["ply"],
            Self::Text => &["xyz", "pts", "txt", "csv", "asc"],
            Self::Shard => &["canopy"],
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Las => "LAS",
            Self::Laz => "LAZ",
            Self::Ply => "PLY",
            Self::Text => "text",
            Self::Shard => "shard",
        }
    }

    /// The format of a file named `path` that begins with `head` (a few hundred bytes, or all it has).
    ///
    /// # Errors
    /// Where neither tells, or the name says a format whose first bytes are others.
    pub(super) fn detect(path: &Path, head: &[u8]) -> Result<Self> {
        ensure!(
            !head.is_empty(),
            "the file is empty (0 bytes): copy or download it again"
        );
        if head.starts_with(b"LASF") {
            // Bit 7 of the point format, byte 104, is set by LASzip.
            return Ok(if head.get(104).is_some_and(|f| f & 0x80 != 0) {
                Self::Laz
            } else {
                Self::Las
            });
        }
        if head.starts_with(b"ply\n") || head.starts_with(b"ply\r") {
            return Ok(Self::Ply);
        }
        if head.starts_with(&crate::shard::MAGIC) {
            return Ok(Self::Shard);
        }
        ensure!(
            !head.starts_with(&[0xff, 0xfe]) && !head.starts_with(&[0xfe, 0xff]),
            "text in UTF-16: save it as UTF-8 or plain text"
        );
        let by_name = Self::from_path(path);
        if by_name == Some(Self::Text) && !head.contains(&0) || super::text::looks_numeric(head) {
            return Ok(Self::Text);
        }
        let found = head.escape_ascii().to_string();
        let found = found.get(..32).unwrap_or(&found);
        match by_name {
            Some(Self::Las | Self::Laz) => {
                bail!("byte 0: expected \"LASF\", found \"{found}\": not a LAS file, or damaged")
            }
            Some(Self::Ply) => {
                bail!("byte 0: expected \"ply\", found \"{found}\": not a PLY file, or damaged")
            }
            Some(Self::Shard) => {
                bail!("byte 0: expected a shard, found \"{found}\": not one, damaged, or never finished")
            }
            Some(Self::Text) => bail!("expected lines of numbers, found \"{found}\": it is a binary file"),
            None => bail!("begins with \"{found}\": not LAS, LAZ, COPC, PLY, a shard, or lines of x y z"),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_go_before_the_name() {
        let of = |name: &str, head: &[u8]| Format::detect(Path::new(name), head).ok();
        assert_eq!(of("a.txt", b"ply\nformat ascii 1.0\n"), Some(Format::Ply));
        assert_eq!(of("a", b"LASF\0\0"), Some(Format::Las));
        assert_eq!(of("a.las", b"1.0 2.0 3.0\n4 5 6\n"), Some(Format::Text));
        assert_eq!(of("a.b.CSV", b"x,y,z\n"), Some(Format::Text));
        assert_eq!(of("noname", b"12\n1 2 3\n"), Some(Format::Text));
    }

    #[test]
    fn what_is_no_cloud_is_refused_with_what_it_begins_with() {
        let told = |name: &str, head: &[u8]| Format::detect(Path::new(name), head).unwrap_err().to_string();
        assert!(told("a.laz", b"\x89PNG").contains("expected \"LASF\", found \"\\x89PNG\""));
        assert!(told("a.txt", b"\0\0").contains("binary"));
        assert!(told("a.las", b"").contains("empty"));
        assert!(told("a.jpeg", b"\xff\xd8\xff").contains("not LAS"));
        assert!(told("a.txt", b"\xff\xfe1\0 \0").contains("UTF-16"));
    }
}

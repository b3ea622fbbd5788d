//! `submission.toml`: what `cargo course pack` says of what it packed. A student can change it: it helps to find what
//! went wrong, and no mark rests on it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::grades::Course;

/// The number that a file's `schema` must have.
pub const SCHEMA: u32 = 1;

/// Bytes of one file that are taken at most.
pub const FILE_BYTES: u64 = 1 << 20;
/// Bytes of all files.
pub const ALL_BYTES: u64 = 4 << 20;
/// Files.
pub const FILES: usize = 64;

/// All of `submission.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When it was packed by the student's clock, RFC 3339: [`crate::late::instant`] reads it.
    pub packed: String,
    /// `rustc --version`.
    pub rustc: String,
    /// [`digest`] of the files.
    pub digest: String,
    /// The student's course.
    pub course: Course,
    /// In the order of their paths.
    #[serde(default, rename = "file")]
    pub files: Vec<Packed>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Packed {
    /// From the course's root, with `/`: `exercises/lesson01/src/lib.rs`.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Of its bytes, as hexadecimal digits.
    pub sha256: String,
}

/// SHA-256 of `bytes`, as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// As hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// One digest of many files, whatever their order: the SHA-256 of the lines `SHA256  PATH`, sorted by path, as
/// `sha256sum` writes them.
pub fn digest<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut files: Vec<(&str, &str)> = files.into_iter().collect();
    files.sort_unstable();
    let lines: String = files
        .iter()
        .map(|(path, sum)| format!("{sum}  {path}\n"))
        .collect();
    sha256(lines.as_bytes())
}

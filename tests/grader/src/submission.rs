//! `submission.toml`: what `cargo course pack` records about a submission. A student can change it, so it only helps to find
//! mistakes, and no mark depends on it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::grades::Course;

/// The number that a file's `schema` must have.
pub const SCHEMA: u32 = 1;

/// The most bytes of one file.
pub const FILE_BYTES: u64 = 1 << 20;
/// The most bytes of all files together.
pub const ALL_BYTES: u64 = 4 << 20;
/// The most files.
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
    /// Sorted by path.
    #[serde(default, rename = "file")]
    pub files: Vec<Packed>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Packed {
    /// Relative to the course's root, with `/`: `exercises/lesson01/src/lib.rs`.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// SHA-256 of `bytes`, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// `bytes` in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// One digest of many files that does not depend on their order: the SHA-256 of the lines `SHA256  PATH`, sorted by path, as
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

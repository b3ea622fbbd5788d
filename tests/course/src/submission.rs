//! `submission.toml`: what `cargo course pack` writes about the packed files. A student can change it, so it serves only to
//! find errors: no mark depends on it.

use grader::grades::Course;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Version of this format, in the field `schema`.
pub const SCHEMA: u32 = 1;

/// Maximum size of a file in bytes.
pub const FILE_BYTES: u64 = 1 << 20;
/// Maximum size of all files together in bytes.
pub const ALL_BYTES: u64 = 4 << 20;
/// Maximum number of files.
pub const FILES: usize = 64;

/// Content of `submission.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Time of packing by the student's clock, in RFC 3339; [`crate::late::instant`] parses it.
    pub packed: String,
    /// `rustc --version`.
    pub rustc: String,
    /// [`digest`] of the files.
    pub digest: String,
    /// Version and digest of the student's course.
    pub course: Course,
    /// The files, ordered by path.
    #[serde(default, rename = "file")]
    pub files: Vec<Packed>,
}

/// A packed file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Packed {
    /// Path from the course's root, with `/`: `exercises/lesson01/src/lib.rs`.
    pub path: String,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal.
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

/// One digest of many files, which does not depend on their order: the SHA-256 of the lines `SHA256  PATH`, sorted by path,
/// in the format of `sha256sum`.
pub fn digest<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut files: Vec<(&str, &str)> = files.into_iter().collect();
    files.sort_unstable();
    let lines: String = files
        .iter()
        .map(|(path, sum)| format!("{sum}  {path}\n"))
        .collect();
    sha256(lines.as_bytes())
}

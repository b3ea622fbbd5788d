//! Which format a file has: from its first bytes if they identify one, else from its name.

use std::path::Path;

use anyhow::{Result, bail, ensure};

use super::{Format, text};

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
    if head.starts_with(b"ply\n") || head.starts_with(b"ply\r") {
        return Ok(Format::Ply);
    }
    // The length of safetensors' header, at most 100 MB, then the header: a JSON object.
    if let Some([0..6, 0, 0, 0, 0, b'{']) = head.get(3..9) {
        return Ok(Format::Shard);
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
        bail!("begins with \"{found}\": expected LAS, LAZ, COPC, PLY, a shard, or lines of x y z")
    };
    let (name, _, begin) = format.facts();
    bail!("byte 0: expected {begin}, found \"{found}\": not a {name} file, or damaged")
}

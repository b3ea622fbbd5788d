//! File formats, shards, importers and downloads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod importers;
#[path = "../made/mod.rs"]
mod made;
mod readers;
mod real;
mod round_trip;

/// Checks that `text` contains all of `parts`.
#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// The bytes of `text`, in which `\n`, `\r`, `\t` and `\xff` stand for the byte.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut pieces = text.split('\\');
    bytes.extend(pieces.next().unwrap_or_default().bytes());
    for piece in pieces {
        let (byte, length) = match piece.as_bytes()[0] {
            b'n' => (b'\n', 1),
            b'r' => (b'\r', 1),
            b't' => (b'\t', 1),
            _ => (u8::from_str_radix(&piece[1..3], 16).unwrap(), 3),
        };
        bytes.push(byte);
        bytes.extend(piece[length..].bytes());
    }
    bytes
}

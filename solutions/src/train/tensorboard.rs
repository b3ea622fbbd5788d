//! TensorBoard event files: scalars that `tensorboard --logdir` plots.
//!
//! A file is a sequence of TFRecords: `length: u64`, `masked_crc(length): u32`, `data`, `masked_crc(data): u32`, all little
//! endian (TensorFlow, `lib/io/record_writer.h`). Each `data` is an `Event` of `event.proto`; the few fields that scalars
//! need are encoded here by hand. The checksum is CRC-32C (Castagnoli), masked as in `lib/hash/crc32c.h`.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

/// The beginning of an event file's name, which TensorBoard looks for.
const PREFIX: &str = "events.out.tfevents.";

/// Removes all event files in `dir`.
///
/// # Errors
/// Returns the system's.
pub fn remove_files(dir: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes one event file. A resumed run writes another one, and TensorBoard joins them by step.
///
/// Dropping it writes the buffer, but only [`flush`](Self::flush) reports an error.
#[derive(Debug)]
pub struct EventWriter {
    file: BufWriter<File>,
    path: PathBuf,
}

impl EventWriter {
    /// Creates a new event file in `dir`, and `dir` if it does not exist. It never opens an existing file.
    ///
    /// # Errors
    /// Returns an error if the folder or the file cannot be created.
    pub fn create(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)
            .with_context(|| format!("cannot create the folder {} for TensorBoard", dir.display()))?;
        let now = seconds_since_epoch();
        let (seconds, process) = (now as u64, std::process::id());
        // TensorBoard reads a folder's files in the order of their names: seconds first, then a count.
        for count in 0..10_000 {
            let path = dir.join(format!("{PREFIX}{seconds:010}.canopy.{process}.{count:04}"));
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
                file => file.with_context(|| format!("cannot create {}", path.display()))?,
            };
            let file = BufWriter::new(file);
            let mut writer = Self { file, path };
            let mut event = Vec::new();
            put_double(&mut event, 1, now);
            put_bytes(&mut event, 3, b"brain.Event:2");
            writer.record(&event)?;
            writer.flush()?;
            return Ok(writer);
        }
        bail!(
            "{} contains 10,000 event files of this second: choose another folder",
            dir.display()
        )
    }

    /// The file being written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds one value of the curve `tag` (`loss/train`) at `step`; `wall_time` is in seconds since 1970, UTC.
    ///
    /// Non-finite values are written too: TensorBoard marks them.
    ///
    /// # Errors
    /// Names the file.
    pub fn scalar(&mut self, tag: &str, step: u64, value: f32, wall_time: f64) -> Result<()> {
        let mut scalar = Vec::with_capacity(tag.len() + 8);
        put_bytes(&mut scalar, 1, tag.as_bytes());
        put_key(&mut scalar, 2, 5);
        scalar.extend_from_slice(&value.to_le_bytes());
        let mut summary = Vec::with_capacity(scalar.len() + 4);
        put_bytes(&mut summary, 1, &scalar);
        let mut event = Vec::with_capacity(summary.len() + 24);
        put_double(&mut event, 1, wall_time);
        put_key(&mut event, 2, 0);
        put_varint(&mut event, step);
        put_bytes(&mut event, 5, &summary);
        self.record(&event)
    }

    /// [`scalar`](Self::scalar) at the time of the call.
    ///
    /// # Errors
    /// Names the file.
    pub fn scalar_now(&mut self, tag: &str, step: u64, value: f32) -> Result<()> {
        self.scalar(tag, step, value, seconds_since_epoch())
    }

    /// Writes the buffer to the file, so that a running TensorBoard sees it.
    ///
    /// # Errors
    /// Names the file.
    pub fn flush(&mut self) -> Result<()> {
        self.file
            .flush()
            .with_context(|| format!("cannot write to {}", self.path.display()))
    }

    fn record(&mut self, data: &[u8]) -> Result<()> {
        let length = (data.len() as u64).to_le_bytes();
        let mut frame = Vec::with_capacity(data.len() + 16);
        frame.extend_from_slice(&length);
        frame.extend_from_slice(&masked_crc(&length).to_le_bytes());
        frame.extend_from_slice(data);
        frame.extend_from_slice(&masked_crc(data).to_le_bytes());
        self.file
            .write_all(&frame)
            .with_context(|| format!("cannot write to {}", self.path.display()))
    }
}

/// CRC-32C, rotated right by 15 bits, plus a constant, so that checksums of data that contains checksums stay strong.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn seconds_since_epoch() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |d| d.as_secs_f64())
}

/// Protocol buffers' variable-length integer: seven bits per byte, lowest first; the top bit says that more bytes follow.
fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// A field's number and wire type: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes.
fn put_key(to: &mut Vec<u8>, field: u64, wire: u64) {
    put_varint(to, field << 3 | wire);
}

fn put_double(to: &mut Vec<u8>, field: u64, value: f64) {
    put_key(to, field, 1);
    to.extend_from_slice(&value.to_le_bytes());
}

fn put_bytes(to: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_key(to, field, 2);
    put_varint(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a file into the data of its records, and verifies both checksums of each.
    fn records(mut bytes: &[u8]) -> Vec<&[u8]> {
        let mut records = Vec::new();
        while !bytes.is_empty() {
            let (length, after) = bytes.split_at(8);
            let size = u64::from_le_bytes(length.try_into().unwrap()) as usize;
            let (data, rest) = after[4..].split_at(size);
            assert_eq!(
                after[..4],
                masked_crc(length).to_le_bytes(),
                "checksum of the length"
            );
            assert_eq!(rest[..4], masked_crc(data).to_le_bytes(), "checksum of the data");
            records.push(data);
            bytes = &rest[4..];
        }
        records
    }

    #[test]
    fn a_scalar_is_encoded_as_protobuf_with_tensorflows_checksums() {
        // RFC 3720, B.4: the CRC of 32 bytes of zeros is 8a9136aa; the mask is calculated by hand.
        assert_eq!(masked_crc(&[0; 32]), 0x0fd7_fffa);
        let dir = tempfile::tempdir().unwrap();
        let mut writer = EventWriter::create(dir.path()).unwrap();
        writer.scalar("loss", 300, 0.5, 2.0).unwrap();
        writer.flush().unwrap();
        let bytes = fs::read(writer.path()).unwrap();
        let records = records(&bytes);
        assert_eq!(records.len(), 2);
        assert_eq!(&records[0][9..], b"\x1a\x0dbrain.Event:2");
        let mut expected = vec![0x09, 0, 0, 0, 0, 0, 0, 0, 0x40]; // wall_time = 2.0
        expected.extend_from_slice(b"\x10\xac\x02"); // step = 300
        expected.extend_from_slice(b"\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f"); // summary.value[0]
        assert_eq!(records[1], expected);
    }

    #[test]
    fn a_resumed_run_gets_a_new_file_that_sorts_after_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = EventWriter::create(dir.path()).unwrap().path().to_path_buf();
        let before = fs::read(&first).unwrap();
        let mut second = EventWriter::create(dir.path()).unwrap();
        second.scalar_now("loss", 1, f32::NAN).unwrap();
        second.flush().unwrap();
        assert!(second.path() > first.as_path());
        assert_eq!(fs::read(&first).unwrap(), before);
        let error = EventWriter::create(&first.join("events")).unwrap_err();
        assert!(
            format!("{error:#}").contains("cannot create the folder"),
            "{error:#}"
        );
    }
}

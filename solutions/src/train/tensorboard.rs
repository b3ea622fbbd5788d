//! TensorBoard event files: scalars that `tensorboard --logdir` plots.
//!
//! A file is a sequence of TFRecords: `length: u64`, `masked_crc(length): u32`, `data`, `masked_crc(data): u32`, all little
//! endian (TensorFlow, `lib/io/record_writer.h`). Each `data` is an `Event` of `event.proto`; the few fields that scalars
//! need are encoded here by hand. The checksum is CRC-32C (Castagnoli), masked as in `lib/hash/crc32c.h`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// Writes one event file. A resumed run writes another one, and TensorBoard joins them by step.
#[derive(Debug)]
pub struct EventWriter {
    file: File,
    path: PathBuf,
}

impl EventWriter {
    /// Creates a new event file in the folder `dir`. It never opens an existing file.
    pub fn create(dir: &Path) -> Result<Self> {
        let now = since_epoch();
        // TensorBoard reads a folder's files in the order of their names.
        let (seconds, nanos) = (now.as_secs(), now.subsec_nanos());
        let path = dir.join(format!("events.out.tfevents.{seconds:010}.canopy.{nanos:09}"));
        let file = File::create_new(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let mut writer = Self { file, path };
        let mut version = Vec::new();
        put_bytes(&mut version, 3, b"brain.Event:2");
        writer.record(&version)?;
        Ok(writer)
    }

    /// Adds a value of each curve, such as `loss/train`, at `step` and the time of the call. Non-finite values are written too:
    /// TensorBoard marks them.
    pub fn scalars(&mut self, step: u64, values: &[(&str, f32)]) -> Result<()> {
        let mut summary = Vec::new();
        for (tag, value) in values {
            let mut scalar = Vec::new();
            put_bytes(&mut scalar, 1, tag.as_bytes());
            put_key(&mut scalar, 2, 5);
            scalar.extend_from_slice(&value.to_le_bytes());
            put_bytes(&mut summary, 1, &scalar);
        }
        let mut fields = Vec::new();
        put_key(&mut fields, 2, 0);
        put_varint(&mut fields, step);
        put_bytes(&mut fields, 5, &summary);
        self.record(&fields)
    }

    /// Appends an event of the current time (seconds since 1970, UTC) with these other `fields`.
    fn record(&mut self, fields: &[u8]) -> Result<()> {
        let mut event = Vec::new();
        put_key(&mut event, 1, 1);
        event.extend_from_slice(&since_epoch().as_secs_f64().to_le_bytes());
        event.extend_from_slice(fields);
        let length = (event.len() as u64).to_le_bytes();
        let [of_length, of_event] = [&length[..], &event].map(|data| masked_crc(data).to_le_bytes());
        let frame = [&length[..], &of_length, &event, &of_event].concat();
        let written = self.file.write_all(&frame);
        written.with_context(|| format!("cannot write to {}", self.path.display()))
    }
}

/// CRC-32C, rotated right by 15 bits, plus a constant, so that checksums of data that contains checksums stay strong.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
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
            assert_eq!(after[..4], masked_crc(length).to_le_bytes());
            assert_eq!(rest[..4], masked_crc(data).to_le_bytes());
            records.push(data);
            bytes = &rest[4..];
        }
        records
    }

    #[test]
    fn a_scalar_is_protobuf_with_tensorflows_checksums_and_a_resumed_run_gets_a_file_that_sorts_later() {
        // RFC 3720, B.4: the CRC of 32 bytes of zeros is 8a9136aa; the mask is calculated by hand.
        assert_eq!(masked_crc(&[0; 32]), 0x0fd7_fffa);
        let dir = tempfile::tempdir().unwrap();
        let mut writer = EventWriter::create(dir.path()).unwrap();
        writer.scalars(300, &[("loss", 0.5)]).unwrap();
        let bytes = std::fs::read(&writer.path).unwrap();
        let records = records(&bytes);
        assert_eq!(records.len(), 2);
        assert_eq!(&records[0][9..], b"\x1a\x0dbrain.Event:2");
        let (time, rest) = records[1].split_at(9);
        assert_eq!(time[0], 0x09, "wall_time is a double");
        let seconds = f64::from_le_bytes(time[1..].try_into().unwrap());
        assert!(
            (since_epoch().as_secs_f64() - seconds).abs() < 3600.0,
            "{seconds}"
        );
        // The step 300, and the only value of the summary.
        assert_eq!(
            rest,
            b"\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f"
        );
        let second = EventWriter::create(dir.path()).unwrap();
        assert!(second.path > writer.path);
        assert_eq!(std::fs::read(&writer.path).unwrap(), bytes);
    }
}

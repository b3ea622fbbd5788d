//! A LAS file's header and variable length records, checked against the file's length.

use std::io::{BufReader, Read, Seek, SeekFrom};

use ::laz::{
    LazItem, LazVlr,
    laszip::{CompressorType, LazItemRecordBuilder},
};
use anyhow::{Context, Result, ensure};
use las::{point::Format, raw};

use super::Grid;

/// The longest compressed record, bytes: 67 are the most without extra bytes.
const LONGEST: u64 = 67 + 512;
/// Bytes after the header of a LAZ file without points, at most.
const EMPTY: u64 = 64;

/// A header whose numbers fit the file.
#[derive(Debug)]
pub struct Header {
    /// The fields as they are in the file.
    pub raw: raw::Header,
    /// How many points there are.
    pub count: u64,
    /// Offset of the first byte of the points.
    pub start: u64,
    /// Point format 0 to 10, and as `las` describes it.
    pub number: u8,
    pub format: Format,
    /// Bytes per record.
    pub record: u64,
    /// From the integers of a record to metres.
    pub grid: Grid,
    /// How records are compressed; `None` if they are not.
    pub laszip: Option<LazVlr>,
    /// What the file's length contradicts.
    pub warning: Option<String>,
}

impl Header {
    /// Reads the header of a file of `len` bytes, from its start.
    ///
    /// # Errors
    /// Names the byte or field, what was expected and what was found.
    pub fn read<R: Read + Seek>(file: &mut R, len: u64) -> Result<Self> {
        let mut from = BufReader::new(&mut *file);
        let raw = raw::Header::read_from(&mut from).context(
            "the header cannot be read: it is truncated or damaged, copy or download the file again",
        )?;
        let (major, minor) = (raw.version.major, raw.version.minor);
        ensure!(
            major == 1 && minor <= 4,
            "byte 24: expected LAS 1.0 to 1.4, found {major}.{minor}"
        );
        let (start, size) = (u64::from(raw.offset_to_point_data), u64::from(raw.header_size));
        ensure!(
            start >= size && start <= len,
            "byte 96: expected points after the header of {size} bytes and within the file of {len}, found byte {start}: the file is truncated or damaged"
        );
        // Bits 6 and 7 mark compression.
        let number = raw.point_data_record_format & 0x3f;
        ensure!(
            number <= 10,
            "byte 104: expected a point format from 0 to 10, found {number}"
        );
        let mut format = Format::new(number)?;
        let (least, record) = (format.len(), raw.point_data_record_length);
        format.extra_bytes = record.checked_sub(least).with_context(|| {
            format!("byte 105: expected records of at least {least} bytes in point format {number}, found {record}")
        })?;
        let grid = Grid {
            scale: [raw.x_scale_factor, raw.y_scale_factor, raw.z_scale_factor],
            offset: [raw.x_offset, raw.y_offset, raw.z_offset],
        };
        let Grid { scale, offset } = grid;
        // Then every i32 gives a finite f32, whatever the origin.
        let reach = |a: usize| scale[a].abs() * 2f64.powi(33) + offset[a].abs();
        ensure!(
            (0..3).all(|a| reach(a) < 1e30 && scale[a] != 0.0),
            "byte 131: expected scale factors and offsets in metres, found {scale:?} and {offset:?}: the header is damaged"
        );
        // The old 32-bit field has precedence if it is not 0, as LAS 1.4 R15 requires of readers.
        let count = match (raw.number_of_point_records, raw.large_file) {
            (0, Some(large)) => large.number_of_point_records,
            (n, _) => u64::from(n),
        };
        let mut header = Self {
            raw,
            count,
            start,
            number,
            format,
            record: u64::from(record),
            grid,
            laszip: None,
            warning: None,
        };
        header.read_records(file)?;
        header.check_points(len)?;
        Ok(header)
    }

    /// The bounding box that the header says: least and greatest x, y and z.
    pub fn bounds(&self) -> [[f64; 3]; 2] {
        let r = &self.raw;
        [[r.min_x, r.min_y, r.min_z], [r.max_x, r.max_y, r.max_z]]
    }

    /// Searches the variable length records for LASzip's.
    fn read_records<R: Read + Seek>(&mut self, file: &mut R) -> Result<()> {
        let begin = u64::from(self.raw.header_size);
        file.seek(SeekFrom::Start(begin))?;
        let mut records = BufReader::new(file).take(self.start - begin);
        let number = self.raw.number_of_variable_length_records;
        for i in 0..number {
            // A record's length is a u16, so none needs much memory.
            let vlr = raw::Vlr::read_from(&mut records, false).with_context(|| {
                let start = self.start;
                format!("variable length record {i} of {number} does not fit before the points at byte {start}: the file is damaged")
            })?;
            let user = vlr.user_id.split(|&b| b == 0).next().unwrap_or_default();
            if (user, vlr.record_id) == (b"laszip encoded", LazVlr::RECORD_ID) {
                self.laszip = Some(self.laszip(&vlr.data)?);
            }
        }
        Ok(())
    }

    /// LASzip's record, checked against the point format. `laz` panics on one that does not fit, and allocates some 16 KiB of
    /// models for each extra byte and for each item.
    fn laszip(&self, data: &[u8]) -> Result<LazVlr> {
        let vlr = LazVlr::from_buffer(data).context("the LASzip record is damaged")?;
        let (number, record) = (self.number, self.record);
        let expected = LazItemRecordBuilder::default_for_point_format_id(number, self.format.extra_bytes)?;
        let types = |items: &[LazItem]| Vec::from_iter(items.iter().map(|i| (i.item_type(), i.size())));
        let compressor = compressor(data);
        let known = match number {
            0..6 => CompressorType::PointWiseChunked,
            _ => CompressorType::LayeredChunked,
        };
        ensure!(
            known as u16 == compressor && types(vlr.items()) == types(&expected) && record <= LONGEST,
            "the LASzip record is damaged: compressor {compressor} with items {:?} for records of {record} bytes in point format \
             {number}; if it is not damaged, convert the file to LAS",
            vlr.items()
        );
        Ok(vlr)
    }

    fn check_points(&mut self, len: u64) -> Result<()> {
        let (count, start, record) = (self.count, self.start, self.record);
        let compressed = self.raw.point_data_record_format & 0x80 != 0;
        ensure!(
            !compressed || self.laszip.is_some(),
            "the points are compressed, but the record that describes how (laszip encoded, 22204) is missing: the file is damaged"
        );
        let room = len - start;
        if self.laszip.is_some() {
            // A compressed file without points has the place of its chunk table, and an empty table.
            if count == 0 && room > EMPTY {
                let text =
                    format!("the header says 0 points, but {room} bytes of points follow: they are not read");
                self.warning = Some(text);
            }
            return Ok(());
        }
        let holds = room / record;
        ensure!(
            count <= holds,
            "the header says {count} points of {record} bytes from byte {start}, but the file of {len} bytes holds {holds}: it is truncated, copy or download it again"
        );
        // Extended records and waveforms may follow the points.
        let waves = self.raw.start_of_waveform_data_packet_record;
        let after = self.raw.evlr.is_some_and(|e| e.number_of_evlrs > 0) || waves.is_some_and(|at| at > 0);
        if count < holds && !after {
            let text = format!(
                "the header says {count} points, but the file has space for {holds}: the others are not read"
            );
            self.warning = Some(text);
        }
        Ok(())
    }
}

/// The compressor's number: the first two bytes of a record that `LazVlr` has read, which does not expose it.
fn compressor(data: &[u8]) -> u16 {
    u16::from_le_bytes([data[0], data[1]])
}

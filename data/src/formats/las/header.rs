//! A LAS file's header and variable length records, checked against the file's length.

use std::io::{BufReader, Read, Seek, SeekFrom};

use ::laz::{
    LazItem, LazVlr,
    laszip::{CompressorType, LazItemRecordBuilder},
};
use anyhow::{Context, Result, ensure};
use las::raw;

use super::record::Layout;

/// The longest compressed record, bytes: 67 are the most without extra bytes.
const LONGEST: usize = 67 + 512;
/// Bytes after the header of a LAZ file without points, at most.
const EMPTY: u64 = 64;

/// A header whose numbers fit the file.
#[derive(Debug)]
pub struct Header {
    /// The fields as they are in the file.
    pub raw: raw::Header,
    /// How many points there are.
    pub count: u64,
    /// The format of the records.
    pub layout: Layout,
    /// How they are compressed; `None` if they are not.
    pub laszip: Option<LazVlr>,
    /// Whether compressed points are in chunks, not in one run.
    pub chunked: bool,
    /// The coordinate reference system, if a record has it.
    pub crs: Option<String>,
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
        let start = u64::from(raw.offset_to_point_data);
        ensure!(
            start >= u64::from(raw.header_size) && start <= len,
            "byte 96: expected points after the header of {} bytes and within the file of {len}, found byte {start}: the file is truncated or damaged",
            raw.header_size
        );
        let layout = Layout::new(&raw)?;
        let mut header = Self {
            count: count(&raw),
            layout,
            laszip: None,
            chunked: true,
            crs: None,
            warning: None,
            raw,
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

    /// Searches the variable length records for LASzip's and for the coordinate reference system.
    fn read_records<R: Read + Seek>(&mut self, file: &mut R) -> Result<()> {
        let begin = u64::from(self.raw.header_size);
        file.seek(SeekFrom::Start(begin))?;
        let room = u64::from(self.raw.offset_to_point_data) - begin;
        let mut records = BufReader::new(file).take(room);
        for i in 0..self.raw.number_of_variable_length_records {
            // A record's length is a u16, so none needs much memory.
            let vlr = raw::Vlr::read_from(&mut records, false).with_context(|| {
                format!(
                    "variable length record {i} of {} does not fit before the points at byte {}: the file is damaged",
                    self.raw.number_of_variable_length_records, self.raw.offset_to_point_data
                )
            })?;
            let user = vlr.user_id.split(|&b| b == 0).next().unwrap_or_default();
            match (user, vlr.record_id) {
                (b"laszip encoded", LazVlr::RECORD_ID) => {
                    self.laszip = Some(laszip(&vlr.data, &self.layout)?);
                    self.chunked = compressor(&vlr.data) != CompressorType::PointWise as u16;
                }
                (b"LASF_Projection", 2112) => {
                    let text = String::from_utf8_lossy(&vlr.data);
                    self.crs = Some(text.trim_end_matches('\0').to_owned());
                }
                (b"LASF_Projection", 34735) if self.crs.is_none() => self.crs = epsg(&vlr.data),
                _ => {}
            }
        }
        Ok(())
    }

    fn check_points(&mut self, len: u64) -> Result<()> {
        let compressed = self.raw.point_data_record_format & 0x80 != 0;
        ensure!(
            !compressed || self.laszip.is_some(),
            "the points are compressed, but the record that describes how (laszip encoded, 22204) is missing: the file is damaged"
        );
        let room = len - u64::from(self.raw.offset_to_point_data);
        if self.laszip.is_some() {
            // A compressed file without points has the place of its chunk table, and an empty table.
            if self.count == 0 && room > EMPTY {
                self.warning = Some(format!(
                    "the header says 0 points, but {room} bytes of points follow: they are not read"
                ));
            }
        } else {
            let holds = room / self.layout.len as u64;
            ensure!(
                self.count <= holds,
                "the header says {} points of {} bytes from byte {}, but the file of {len} bytes holds {holds}: it is truncated, copy or download it again",
                self.count,
                self.layout.len,
                self.raw.offset_to_point_data
            );
            // Extended records and waveforms may follow the points.
            let after = self.raw.evlr.is_some_and(|e| e.number_of_evlrs > 0)
                || self
                    .raw
                    .start_of_waveform_data_packet_record
                    .is_some_and(|at| at > 0);
            if self.count < holds && !after {
                self.warning = Some(format!(
                    "the header says {} points, but the file has space for {holds}: the others are not read",
                    self.count
                ));
            }
        }
        Ok(())
    }
}

/// The number of points. The old 32-bit field has precedence if it is not 0, as LAS 1.4 R15 requires of readers.
fn count(raw: &raw::Header) -> u64 {
    match (raw.number_of_point_records, raw.large_file) {
        (0, Some(large)) => large.number_of_point_records,
        (n, _) => u64::from(n),
    }
}

/// LASzip's record, checked against the point format. `laz` panics on one that does not fit, and allocates some 16 KiB of
/// models for each extra byte and for each item.
fn laszip(data: &[u8], layout: &Layout) -> Result<LazVlr> {
    let vlr = LazVlr::from_buffer(data).context("the LASzip record is damaged")?;
    let expected =
        LazItemRecordBuilder::default_for_point_format_id(layout.number, layout.format.extra_bytes)?;
    let types = |items: &[LazItem]| {
        items
            .iter()
            .map(|i| (i.item_type(), i.size()))
            .collect::<Vec<_>>()
    };
    let layered = layout.number >= 6;
    let compressor = compressor(data);
    let known = if layered {
        compressor == CompressorType::LayeredChunked as u16
    } else {
        compressor == CompressorType::PointWiseChunked as u16
            || compressor == CompressorType::PointWise as u16
    };
    ensure!(
        known && types(vlr.items()) == types(&expected) && layout.len <= LONGEST,
        "the LASzip record is damaged: compressor {compressor} with items {:?} for records of {} bytes in point format {}; \
         if it is not damaged, convert the file to LAS",
        vlr.items(),
        layout.len,
        layout.number
    );
    Ok(vlr)
}

/// The compressor's number: the first two bytes of LASzip's record, which `LazVlr` does not expose.
fn compressor(data: &[u8]) -> u16 {
    u16::from_le_bytes([data[0], data[1]])
}

/// The EPSG code in a GeoTIFF key directory: key 3072 (projected), or 2048 (geographic).
fn epsg(data: &[u8]) -> Option<String> {
    let shorts: Vec<u16> = data
        .chunks_exact(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]))
        .collect();
    let key = |id: u16| {
        let mut keys = shorts.get(4..)?.chunks_exact(4);
        // A key whose value is in another record (location not 0) is not a code.
        keys.find(|k| k[0] == id && k[1] == 0 && k[3] != 32767)
            .map(|k| k[3])
    };
    key(3072).or_else(|| key(2048)).map(|code| format!("EPSG:{code}"))
}

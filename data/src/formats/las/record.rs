//! Raw point records, and how they become a cloud.

use ::laz::DecompressionSelection;
use anyhow::{Result, ensure};
use las::raw;

use super::{super::frame::origin_of, point14::Point};
use crate::{Cloud, Return};

/// Bytes of a record of point formats 0 to 10, without extra bytes (LAS 1.4 R15, tables 7 to 17).
const SIZES: [usize; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

/// How records lie, and how their integers become metres.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Point format, 0 to 10.
    pub format: u8,
    /// Bytes a record.
    pub len: usize,
    scale: [f64; 3],
    offset: [f64; 3],
}

impl Layout {
    /// The layout that `raw` tells of.
    ///
    /// # Errors
    /// Where a field is out of its range.
    pub fn new(raw: &raw::Header) -> Result<Self> {
        // Bits 6 and 7 mark compression.
        let format = raw.point_data_record_format & 0x3f;
        let len = usize::from(raw.point_data_record_length);
        let least = SIZES.get(usize::from(format));
        ensure!(
            least.is_some(),
            "byte 104: expected a point format from 0 to 10, found {format}"
        );
        ensure!(
            least.is_some_and(|&l| len >= l),
            "byte 105: expected records of at least {least:?} bytes in point format {format}, found {len}"
        );
        let scale = [raw.x_scale_factor, raw.y_scale_factor, raw.z_scale_factor];
        let offset = [raw.x_offset, raw.y_offset, raw.z_offset];
        for a in 0..3 {
            // So large that every i32 stays a finite f32, whatever the origin.
            let reach = scale[a].abs() * 2f64.powi(33) + offset[a].abs();
            ensure!(
                reach < 1e30 && scale[a] != 0.0,
                "byte 131: expected scale factors and offsets in metres, found scale {scale:?} and offset {offset:?}: the header is damaged"
            );
        }
        Ok(Self {
            format,
            len,
            scale,
            offset,
        })
    }

    /// The origin for a cloud whose first record is `record`.
    pub fn origin(&self, record: &[u8]) -> [f64; 3] {
        origin_of([0, 1, 2].map(|a| f64::from(i32_at(record, 4 * a)) * self.scale[a] + self.offset[a]))
    }

    /// Adds `records` to `out`, relative to its origin.
    pub fn decode(&self, records: &[u8], out: &mut Cloud) {
        // One attribute after another: the block of records stays in the cache, and each loop is simple.
        let records = || records.chunks_exact(self.len);
        let (scale, shift) = (self.scale, [0, 1, 2].map(|a| self.offset[a] - out.origin[a]));
        out.xyz.extend(
            records().map(|r| [0, 1, 2].map(|a| (f64::from(i32_at(r, 4 * a)) * scale[a] + shift[a]) as f32)),
        );
        out.intensity
            .extend(records().map(|r| u16::from_le_bytes([r[12], r[13]])));
        if self.format < 6 {
            // The upper three bits of the class are flags.
            out.class.extend(records().map(|r| r[15] & 31));
            out.returns.extend(records().map(|r| Return {
                number: r[14] & 7,
                of: r[14] >> 3 & 7,
            }));
        } else {
            out.class.extend(records().map(|r| r[16]));
            out.returns.extend(records().map(|r| Return {
                number: r[14] & 15,
                of: r[14] >> 4,
            }));
        }
    }

    /// Adds `points` to `out`, relative to its origin.
    pub fn place(&self, points: &[Point], out: &mut Cloud) {
        let (scale, shift) = (self.scale, [0, 1, 2].map(|a| self.offset[a] - out.origin[a]));
        let metres = |p: &Point| [0, 1, 2].map(|a| (f64::from(p.xyz[a]) * scale[a] + shift[a]) as f32);
        out.xyz.extend(points.iter().map(metres));
        out.intensity.extend(points.iter().map(|p| p.intensity));
        out.class.extend(points.iter().map(|p| p.class));
        out.returns.extend(points.iter().map(|p| Return {
            number: p.number,
            of: p.of,
        }));
    }

    /// What must be decompressed of formats 6 to 10, whose fields lie in layers of their own; the rest is skipped.
    pub fn selection() -> DecompressionSelection {
        DecompressionSelection::xy_returns_channel()
            .decompress_z()
            .decompress_classification()
            .decompress_intensity()
    }
}

fn i32_at(r: &[u8], at: usize) -> i32 {
    i32::from_le_bytes([r[at], r[at + 1], r[at + 2], r[at + 3]])
}

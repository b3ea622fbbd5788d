//! Point records, and how they become a cloud.

use anyhow::{Context, Result, ensure};
use las::{PointData, PointDataBuilder, point::Format, raw};

use super::super::{frame::origin_of, sink::Grid};
use crate::{Cloud, Return};

/// The format of a file's records, and the grid of their coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Point format 0 to 10.
    pub number: u8,
    /// Bytes per record.
    pub len: usize,
    /// From the integers of a record to metres.
    pub grid: Grid,
    /// As `las` describes it.
    pub format: Format,
}

impl Layout {
    /// The layout that `raw` describes.
    ///
    /// # Errors
    /// Returns an error if a field is out of its range.
    pub fn new(raw: &raw::Header) -> Result<Self> {
        // Bits 6 and 7 mark compression.
        let number = raw.point_data_record_format & 0x3f;
        ensure!(
            number <= 10,
            "byte 104: expected a point format from 0 to 10, found {number}"
        );
        let mut format = Format::new(number)?;
        let extra = raw.point_data_record_length.checked_sub(format.len());
        format.extra_bytes = extra.with_context(|| {
            format!(
                "byte 105: expected records of at least {} bytes in point format {number}, found {}",
                format.len(),
                raw.point_data_record_length
            )
        })?;
        let grid = Grid {
            scale: [raw.x_scale_factor, raw.y_scale_factor, raw.z_scale_factor],
            offset: [raw.x_offset, raw.y_offset, raw.z_offset],
        };
        for (scale, offset) in grid.scale.into_iter().zip(grid.offset) {
            // Then every i32 gives a finite f32, whatever the origin.
            let reach = scale.abs() * 2f64.powi(33) + offset.abs();
            ensure!(
                reach < 1e30 && scale != 0.0,
                "byte 131: expected scale factors and offsets in metres, found {:?} and {:?}: the header is damaged",
                grid.scale,
                grid.offset
            );
        }
        let len = usize::from(raw.point_data_record_length);
        Ok(Self {
            number,
            len,
            grid,
            format,
        })
    }

    /// An empty buffer of records.
    pub fn buffer(&self) -> PointData {
        PointDataBuilder::new().with_format(self.format).build()
    }

    /// The origin for a cloud whose first record is `record`.
    pub fn origin(&self, record: &[u8]) -> [f64; 3] {
        let integer = |a: usize| i32::from_le_bytes([0, 1, 2, 3].map(|i| record[4 * a + i]));
        origin_of([0, 1, 2].map(|a| f64::from(integer(a)) * self.grid.scale[a] + self.grid.offset[a]))
    }

    /// `records` as a cloud around `origin`.
    pub fn cloud(&self, records: &PointData, origin: [f64; 3]) -> Cloud {
        let scale = self.grid.scale;
        let shift = [0, 1, 2].map(|a| self.grid.offset[a] - origin[a]);
        let metres = |a: usize, v: i32| (f64::from(v) * scale[a] + shift[a]) as f32;
        let integers = records.x_raw().zip(records.y_raw()).zip(records.z_raw());
        let returns = records.return_number().zip(records.number_of_returns());
        Cloud {
            origin,
            xyz: integers
                .map(|((x, y), z)| [metres(0, x), metres(1, y), metres(2, z)])
                .collect(),
            intensity: records.intensity().collect(),
            class: records.classification().collect(),
            returns: returns.map(|(number, of)| Return { number, of }).collect(),
        }
    }
}

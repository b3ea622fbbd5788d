//! Writing LAS 1.4, point format 6, compressed or not.

use std::{
    fs::File,
    io::{BufWriter, Seek, SeekFrom, Write},
    mem::forget,
};

use anyhow::{Context, Result, ensure};
use las::{Builder, PointDataBuilder, Transform, Vector, point::Format};

use super::super::stream::{self, Grid};
use crate::{Cloud, Return};

/// Bytes per record of point format 6.
const RECORD: usize = 30;
/// Offset of the old counts, of points and of points by return, in the header.
const OLD_COUNTS: u64 = 107;
/// Records that are encoded at once.
const BLOCK: usize = 200_000;

/// Writes clouds to a LAS or LAZ file.
///
/// LAS has no way to say that an attribute is absent. A cloud without returns becomes single returns, one without
/// intensity gets 0, and one without classes gets 0 (never classified).
pub struct Sink {
    /// None after the end.
    writer: Option<las::Writer<BufWriter<File>>>,
    grid: Grid,
    count: u64,
}

impl Sink {
    /// Begins a file on `grid`, which is compressed if `pack`.
    pub fn new(file: File, grid: Grid, pack: bool) -> Result<Self> {
        let [x, y, z] = [0, 1, 2].map(|a| Transform {
            scale: grid.scale[a],
            offset: grid.offset[a],
        });
        let mut builder = Builder::from((1, 4));
        builder.point_format = Format::new(6)?;
        builder.point_format.is_compressed = pack;
        builder.transforms = Vector { x, y, z };
        builder.generating_software = "canopy".into();
        // Point formats 6 and later require this bit (coordinate systems are in WKT), even without such a system.
        builder.has_wkt_crs = true;
        let out = BufWriter::with_capacity(1 << 18, file);
        Ok(Self {
            writer: Some(las::Writer::new(out, builder.into_header()?)?),
            grid,
            count: 0,
        })
    }

    fn record(&mut self, cloud: &Cloud, i: usize, into: &mut Vec<u8>) -> Result<()> {
        let Grid { scale, offset } = self.grid;
        for a in 0..3 {
            let metres = f64::from(cloud.xyz[i][a]) + (cloud.origin[a] - offset[a]);
            let steps = (metres / scale[a]).round();
            ensure!(
                steps.abs() <= f64::from(i32::MAX),
                "point {}: {metres} m from the offset {} m is out of the range of LAS with a step of {} m; choose a larger --resolution",
                self.count,
                offset[a],
                scale[a]
            );
            into.extend((steps as i32).to_le_bytes());
        }
        let intensity = cloud.intensity.get(i).copied().unwrap_or(0);
        let returns = cloud.returns.get(i).copied();
        let Return { number, of } = returns.unwrap_or(Return { number: 1, of: 1 });
        into.extend(intensity.to_le_bytes());
        let class = cloud.class.get(i).copied().unwrap_or(0);
        into.extend([number.min(15) | of.min(15) << 4, 0, class]);
        // User data, scan angle, source and GPS time are not known.
        into.extend([0; 13]);
        self.count += 1;
        Ok(())
    }
}

/// A file that failed is closed as well.
impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.writer.take().map(closed);
    }
}

/// Ends a file. `las` ends one whose writer is dropped, and panics if it cannot: such a file stays open.
fn closed(mut writer: las::Writer<BufWriter<File>>) -> las::Result<BufWriter<File>> {
    if let Err(e) = writer.close() {
        forget(writer);
        return Err(e);
    }
    writer.into_inner()
}

impl stream::Sink for Sink {
    fn write(&mut self, cloud: &Cloud) -> Result<()> {
        for begin in (0..cloud.len()).step_by(BLOCK) {
            let end = cloud.len().min(begin + BLOCK);
            let mut records = Vec::with_capacity((end - begin) * RECORD);
            for i in begin..end {
                self.record(cloud, i, &mut records)?;
            }
            let writer = self.writer.as_mut().context("the file is complete")?;
            let points = PointDataBuilder::new().for_header(writer.header());
            writer.write_points(&points.build_from_bytes(records)?)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let writer = self.writer.take().context("the file is complete")?;
        let mut out = closed(writer).context("cannot complete the file")?;
        // Point formats 6 and later leave the old 32-bit counts 0; `las` fills them.
        out.seek(SeekFrom::Start(OLD_COUNTS))?;
        out.write_all(&[0; 24])?;
        out.flush().context("cannot write the header")
    }
}

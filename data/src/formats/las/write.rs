//! Writing LAS 1.4, point format 6, compressed or not.

use std::{
    fs::File,
    io::{BufWriter, Seek, SeekFrom, Write},
    mem::forget,
};

use anyhow::{Context, Result, ensure};
use las::{Builder, PointDataBuilder, Transform, Vector, point::Format};

use super::Grid;
use crate::{Cloud, Return};

/// Bytes per record of point format 6.
const RECORD: usize = 30;
/// Offset of the old counts, of points and of points by return, in the header.
const OLD_COUNTS: u64 = 107;

/// Writes `cloud` to a LAS or LAZ file on `grid`, compressed if `pack`.
///
/// LAS has no way to say that an attribute is absent. A cloud without returns becomes single returns, one without
/// intensity gets 0, and one without classes gets 0 (never classified).
pub fn write(file: File, cloud: &Cloud, grid: Grid, pack: bool) -> Result<()> {
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
    let mut writer = las::Writer::new(out, builder.into_header()?)?;
    let written = points(cloud, grid).and_then(|records| {
        let points = PointDataBuilder::new().for_header(writer.header());
        Ok(writer.write_points(&points.build_from_bytes(records)?)?)
    });
    // `las` ends a file whose writer is dropped, and panics if it cannot: such a file stays open.
    if let Err(e) = writer.close() {
        forget(writer);
        return written.and(Err(e).context("cannot complete the file"));
    }
    written?;
    let mut out = writer.into_inner()?;
    // Point formats 6 and later leave the old 32-bit counts 0; `las` fills them.
    out.seek(SeekFrom::Start(OLD_COUNTS))?;
    out.write_all(&[0; 24])?;
    out.flush().context("cannot write the header")
}

/// The points of `cloud` as records of point format 6.
fn points(cloud: &Cloud, Grid { scale, offset }: Grid) -> Result<Vec<u8>> {
    let mut records = Vec::with_capacity(cloud.len() * RECORD);
    for (i, point) in cloud.xyz.iter().enumerate() {
        for a in 0..3 {
            let metres = f64::from(point[a]) + (cloud.origin[a] - offset[a]);
            let steps = (metres / scale[a]).round();
            ensure!(
                steps.abs() <= f64::from(i32::MAX),
                "point {i}: {metres} m from the offset {} m is out of the range of LAS with a step of {} m; choose a larger --resolution",
                offset[a],
                scale[a]
            );
            records.extend((steps as i32).to_le_bytes());
        }
        let intensity = cloud.intensity.get(i).copied().unwrap_or(0);
        let returns = cloud.returns.get(i).copied();
        let Return { number, of } = returns.unwrap_or(Return { number: 1, of: 1 });
        records.extend(intensity.to_le_bytes());
        let class = cloud.class.get(i).copied().unwrap_or(0);
        records.extend([number.min(15) | of.min(15) << 4, 0, class]);
        // User data, scan angle, source and GPS time are not known.
        records.extend([0; 13]);
    }
    Ok(records)
}

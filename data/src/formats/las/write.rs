//! Writing LAS 1.4, point format 6, compressed or not.

use std::{
    fs::File,
    io::{BufWriter, Seek, SeekFrom, Write},
};

use anyhow::{Context, Result, ensure};
use las::{Version, raw};
use laz::{LazVlr, LazVlrBuilder, ParLasZipCompressor};

use super::super::sink::{self, Grid, Options};
use crate::{Cloud, Return};

/// Bytes per record of point format 6.
const RECORD: usize = 30;
/// Bytes of the header of LAS 1.4.
const HEADER: u16 = 375;
/// Records that are encoded at once.
const BLOCK: usize = 200_000;

enum Out {
    Plain(BufWriter<File>),
    Packed(Box<ParLasZipCompressor<BufWriter<File>>>),
}

/// Writes clouds to a LAS or LAZ file.
///
/// LAS has no way to say that an attribute is absent. A cloud without returns becomes single returns, one without
/// intensity gets 0, and one without classes gets 0 (never classified).
pub struct Sink {
    out: Out,
    header: raw::Header,
    grid: Grid,
    count: u64,
    by_return: [u64; 15],
    min: [i32; 3],
    max: [i32; 3],
}

impl Sink {
    /// Begins a file on the grid that suits `options` and the origin of `first`.
    pub fn new(file: File, first: &Cloud, options: &Options, pack: bool) -> Result<Self> {
        let grid = options.grid_for(first.origin);
        let packed = pack
            .then(|| LazVlrBuilder::default().with_point_format(6, 0))
            .transpose()?
            .map(LazVlrBuilder::build);
        let mut header = raw::Header {
            version: Version::new(1, 4),
            // Point formats 6 and later require this bit (coordinate systems are in WKT), even without such a system.
            global_encoding: 1 << 4,
            header_size: HEADER,
            offset_to_point_data: u32::from(HEADER),
            point_data_record_format: 6,
            point_data_record_length: RECORD as u16,
            x_scale_factor: grid.scale[0],
            y_scale_factor: grid.scale[1],
            z_scale_factor: grid.scale[2],
            x_offset: grid.offset[0],
            y_offset: grid.offset[1],
            z_offset: grid.offset[2],
            large_file: Some(raw::header::LargeFile::default()),
            ..raw::Header::default()
        };
        header.generating_software[..6].copy_from_slice(b"canopy");
        let mut out = BufWriter::with_capacity(1 << 18, file);
        let mut laszip = Vec::new();
        if let Some(vlr) = &packed {
            laszip = laszip_record(vlr)?;
            header.point_data_record_format |= 0x80;
            header.number_of_variable_length_records = 1;
            header.offset_to_point_data += laszip.len() as u32;
        }
        header.write_to(&mut out)?;
        out.write_all(&laszip)?;
        Ok(Self {
            out: match &packed {
                Some(vlr) => Out::Packed(Box::new(ParLasZipCompressor::new(out, vlr.clone())?)),
                None => Out::Plain(out),
            },
            header,
            grid,
            count: 0,
            by_return: [0; 15],
            min: [i32::MAX; 3],
            max: [i32::MIN; 3],
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
            let steps = steps as i32;
            self.min[a] = self.min[a].min(steps);
            self.max[a] = self.max[a].max(steps);
            into.extend(steps.to_le_bytes());
        }
        let intensity = cloud.intensity.get(i).copied().unwrap_or(0);
        let Return { number, of } = cloud
            .returns
            .get(i)
            .copied()
            .unwrap_or(Return { number: 1, of: 1 });
        let (number, of) = (number.min(15), of.min(15));
        if let Some(n) = usize::from(number).checked_sub(1) {
            self.by_return[n] += 1;
        }
        into.extend(intensity.to_le_bytes());
        into.extend([number | of << 4, 0, cloud.class.get(i).copied().unwrap_or(0)]);
        // User data, scan angle, source and GPS time are not known.
        into.extend([0; 13]);
        self.count += 1;
        Ok(())
    }
}

impl sink::Sink for Sink {
    fn write(&mut self, cloud: &Cloud) -> Result<()> {
        let mut records = Vec::with_capacity(BLOCK.min(cloud.len()) * RECORD);
        for begin in (0..cloud.len()).step_by(BLOCK) {
            records.clear();
            for i in begin..cloud.len().min(begin + BLOCK) {
                self.record(cloud, i, &mut records)?;
            }
            match &mut self.out {
                Out::Plain(out) => out.write_all(&records)?,
                Out::Packed(out) => out.compress_many(&records)?,
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { out, mut header, .. } = *self;
        let mut out = match out {
            Out::Plain(out) => out,
            Out::Packed(mut packed) => {
                packed.done()?;
                packed.into_inner()
            }
        };
        header.large_file = Some(raw::header::LargeFile {
            number_of_point_records: self.count,
            number_of_points_by_return: self.by_return,
        });
        if self.count > 0 {
            // A negative scale swaps least and greatest.
            let ends = |a: usize| {
                let metres = |steps: i32| f64::from(steps) * self.grid.scale[a] + self.grid.offset[a];
                let (p, q) = (metres(self.min[a]), metres(self.max[a]));
                (p.min(q), p.max(q))
            };
            (header.min_x, header.max_x) = ends(0);
            (header.min_y, header.max_y) = ends(1);
            (header.min_z, header.max_z) = ends(2);
        }
        out.seek(SeekFrom::Start(0))?;
        header.write_to(&mut out)?;
        out.flush().context("cannot write the header")
    }
}

/// LASzip's variable length record, header and all.
fn laszip_record(vlr: &LazVlr) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    vlr.write_to(&mut data)?;
    let record = las::Vlr {
        user_id: LazVlr::USER_ID.to_owned(),
        record_id: LazVlr::RECORD_ID,
        description: LazVlr::DESCRIPTION.to_owned(),
        data,
    };
    let mut bytes = Vec::new();
    record.into_raw(false)?.write_to(&mut bytes)?;
    Ok(bytes)
}

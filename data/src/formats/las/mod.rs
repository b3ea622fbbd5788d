//! LAS and LAZ (ASPRS LAS 1.4 R15; LASzip, Isenburg 2013). COPC files are LAZ files.
//!
//! The crate `las` parses headers and point records, the crate `laz` decompresses. Both trust the sizes that a file
//! claims, so every claim is compared with the file's length before either crate sees it.

mod chunks;
mod header;
mod laz;
mod write;

use std::{
    fs::File,
    io::{Read, Seek},
};

use anyhow::{Context, Result};
use las::PointDataBuilder;
use rayon::prelude::*;

pub use header::Header;
pub use laz::hide_decoder_panics;
pub use write::write;

use super::{Grid, Loaded, points::origin_of};
use crate::{Cloud, Return};
use chunks::Chunk;

/// A bounding box may be wrong by this much, metres, besides a step of the coordinates.
const TOLERANCE: f64 = 0.02;

/// Reads a LAS or LAZ file of `len` bytes. Chunks are decoded in parallel.
pub fn read(mut file: File, len: u64) -> Result<Loaded> {
    let mut header = Header::read(&mut file, len)?;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let chunks = chunks::find(&bytes, &mut header)?;
    // The first record of a chunk is not compressed, and begins with its coordinates.
    let first = chunks
        .first()
        .map_or(Ok(&[0; 12][..]), |chunk| part(&bytes, chunk.at, 12))?;
    let Grid { scale, offset } = header.grid;
    let integer = |a: usize| i32::from_le_bytes([0, 1, 2, 3].map(|i| first[4 * a + i]));
    let origin = origin_of([0, 1, 2].map(|a| f64::from(integer(a)) * scale[a] + offset[a]));
    let decode = |&Chunk { at, bytes: n, points }: &Chunk| {
        let cloud = part(&bytes, at, n).and_then(|chunk| decode(&header, origin, chunk, points));
        cloud.with_context(|| {
            format!("the {points} points from byte {at} are damaged: copy or download the file again")
        })
    };
    let mut cloud = Cloud::default();
    for part in chunks.par_iter().map(decode).collect::<Result<Vec<Cloud>>>()? {
        cloud.append(part);
    }
    // The box of points that are not read would be in doubt too.
    let warning = header.warning.clone().or_else(|| wrong_box(&header, &cloud));
    Ok(Loaded {
        cloud,
        grid: Some(header.grid),
        warnings: warning.into_iter().collect(),
    })
}

/// The points of a chunk.
fn decode(header: &Header, origin: [f64; 3], chunk: &[u8], points: u64) -> Result<Cloud> {
    let mut records = PointDataBuilder::new().with_format(header.format).build();
    let bytes = records.resize_for(points as usize);
    match &header.laszip {
        Some(vlr) => laz::decompress(chunk, points, vlr, bytes)?,
        None => bytes.copy_from_slice(chunk),
    }
    let Grid { scale, offset } = header.grid;
    let shift = [0, 1, 2].map(|a| offset[a] - origin[a]);
    let metres = |a: usize, v: i32| (f64::from(v) * scale[a] + shift[a]) as f32;
    let integers = records.x_raw().zip(records.y_raw()).zip(records.z_raw());
    let returns = records.return_number().zip(records.number_of_returns());
    Ok(Cloud {
        origin,
        xyz: integers
            .map(|((x, y), z)| [metres(0, x), metres(1, y), metres(2, z)])
            .collect(),
        intensity: records.intensity().collect(),
        class: records.classification().collect(),
        returns: returns.map(|(number, of)| Return { number, of }).collect(),
    })
}

/// A warning if the header's bounding box is not that of the points.
fn wrong_box(header: &Header, cloud: &Cloud) -> Option<String> {
    let (said, seen) = (header.bounds(), cloud.bounds()?);
    for (a, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let ([from, to], [least, most]) = ([said[0][a], said[1][a]], [seen[0][a], seen[1][a]]);
        let near = TOLERANCE + header.grid.scale[a].abs();
        if !((from - least).abs() <= near && (to - most).abs() <= near) {
            return Some(format!(
                "the header says that {axis} is from {from:.3} to {to:.3}, but it is from {least:.3} to {most:.3}: another program may use the wrong box"
            ));
        }
    }
    None
}

/// The `n` bytes from byte `at`.
fn part(bytes: &[u8], at: u64, n: u64) -> Result<&[u8]> {
    let (from, to) = (at as usize, at.saturating_add(n) as usize);
    let part = bytes.get(from..to);
    part.with_context(|| format!("byte {at}: expected {n} more bytes: the file is truncated"))
}

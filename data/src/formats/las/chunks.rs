//! The byte ranges of a LAZ file's chunks: from its chunk table, or without one from the chunks themselves.

use std::{
    fs::File,
    io::{BufReader, Seek, SeekFrom},
};

use anyhow::{Context, Result, bail, ensure};
use laz::{LazItemType, LazVlr, laszip::ChunkTable};

use super::{Header, read_at};

/// Points that are compressed on their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chunk {
    /// Offset of its first byte in the file.
    pub at: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// How many points it has.
    pub points: u64,
}

/// Finds the chunks of a file of `len` bytes. Returns `None` if there is no table, so that the chunks must be read in
/// order.
///
/// # Errors
/// Returns an error if the table does not fit the file or the number of points.
pub fn find(file: &mut File, len: u64, header: &Header, vlr: &LazVlr) -> Result<Option<Vec<Chunk>>> {
    let start = u64::from(header.raw.offset_to_point_data);
    let Some(table) = table_place(file, start, len)? else {
        let variable = vlr.uses_variable_size_chunks();
        return match header.layout.number {
            6.. => walk(file, start + 8, len, header, vlr).map(Some),
            _ if variable => {
                bail!("the chunk table is missing, and chunks of varying size cannot be separated without it")
            }
            _ => Ok(None),
        };
    };
    // The points begin with the 8 bytes that say where the table is.
    let first = start + 8;
    ensure!(
        table >= first && table.saturating_add(8) <= len,
        "byte {start}: expected a chunk table between byte {first} and the file's end at {len}, found byte {table}: the file is truncated or damaged, copy or download it again"
    );
    let mut number = [0; 4];
    read_at(file, table + 4, &mut number)?;
    let number = u64::from(u32::from_le_bytes(number));
    // Every chunk begins with one uncompressed point. `laz` allocates entries for whatever number is claimed.
    let most = (table - first) / header.layout.len as u64;
    ensure!(
        number <= most,
        "byte {}: expected a table of at most {most} chunks, found {number}: the file is damaged",
        table + 4
    );
    file.seek(SeekFrom::Start(table))?;
    let mut from = BufReader::new(file);
    let entries = ChunkTable::read(&mut &mut from, vlr.uses_variable_size_chunks())
        .with_context(|| format!("byte {table}: the chunk table is truncated"))?;
    lay_out(&entries, first, table, header.count, vlr).map(Some)
}

/// Offset of the chunk table: from the first 8 bytes of the points or, if the writer could not seek, from the file's
/// last 8.
fn table_place(file: &mut File, start: u64, len: u64) -> Result<Option<u64>> {
    for at in [start, len.saturating_sub(8)] {
        let mut bytes = [0; 8];
        read_at(file, at, &mut bytes)?;
        let place = i64::from_le_bytes(bytes);
        if place > start as i64 && (at == start || place as u64 <= len) {
            return Ok(Some(place as u64));
        }
    }
    Ok(None)
}

fn lay_out(entries: &ChunkTable, start: u64, end: u64, count: u64, vlr: &LazVlr) -> Result<Vec<Chunk>> {
    let (mut at, mut left) = (start, count);
    let mut chunks = Vec::with_capacity(entries.len());
    for (i, e) in entries.into_iter().enumerate() {
        let points = if vlr.uses_variable_size_chunks() {
            e.point_count
        } else {
            u64::from(vlr.chunk_size()).min(left)
        };
        ensure!(
            points <= left && at.checked_add(e.byte_count).is_some_and(|next| next <= end),
            "chunk {i}: {points} points in {} bytes from byte {at} do not fit into the {left} points and {} bytes that are left: the chunk table is damaged",
            e.byte_count,
            end - at
        );
        // COPC writers leave empty chunks. Others without points are beyond those of the header.
        if points > 0 || e.byte_count > 0 {
            chunks.push(Chunk {
                at,
                bytes: e.byte_count,
                points,
            });
        }
        at += e.byte_count;
        left -= points;
    }
    ensure!(
        left == 0,
        "the header says {count} points, the chunk table has {}: the file is damaged or was never finished",
        count - left
    );
    Ok(chunks)
}

/// How many layers a chunk of point formats 6 to 10 has.
pub fn layers(vlr: &LazVlr) -> usize {
    let of = |t| match t {
        LazItemType::Point14 => 9,
        LazItemType::RGBNIR14 => 2,
        LazItemType::Byte14(n) => usize::from(n),
        _ => 1,
    };
    vlr.items().iter().map(|i| of(i.item_type())).sum()
}

/// Finds the chunks of a layered file without its table. Each begins with a record, its number of points and the
/// length of each layer.
fn walk(file: &mut File, mut at: u64, len: u64, header: &Header, vlr: &LazVlr) -> Result<Vec<Chunk>> {
    let mut left = header.count;
    let mut chunks = Vec::new();
    let mut head = vec![0; header.layout.len + 4 + 4 * layers(vlr)];
    while left > 0 {
        read_at(file, at, &mut head).with_context(|| format!("{left} points are missing"))?;
        let (points, bytes) = layered_size(&head, header.layout.len);
        ensure!(
            points > 0 && points <= left && at.checked_add(bytes).is_some_and(|end| end <= len),
            "byte {at}: a chunk of {points} points in {bytes} bytes does not fit into the {left} points that are left or the file of {len}: it is truncated or damaged"
        );
        chunks.push(Chunk { at, bytes, points });
        at += bytes;
        left -= points;
    }
    Ok(chunks)
}

/// Points and bytes of the layered chunk that begins with `head`: a record, the number of points, the layer lengths.
pub fn layered_size(head: &[u8], record: usize) -> (u64, u64) {
    let u32_at = |b: &[u8]| u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let layers: u64 = head[record + 4..].chunks_exact(4).map(u32_at).sum();
    (u32_at(&head[record..]), head.len() as u64 + layers)
}

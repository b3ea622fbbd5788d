//! The byte ranges of a file's points: chunks that are compressed on their own, or blocks that are not compressed.

use std::io::Cursor;

use anyhow::{Context, Result, bail, ensure};
use laz::{LazItemType, LazVlr, laszip::ChunkTable};

use super::{Header, part};

/// Points that are decoded at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chunk {
    /// Offset of its first byte in the file.
    pub at: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// How many points it has.
    pub points: u64,
}

/// Points of a block that is not compressed.
const BLOCK: u64 = 50_000;
/// A chunk's records may have this many bytes, and this many for each compressed byte. Memory is allocated for them before
/// they are decoded, and points are never packed so densely.
const MOST: u64 = 16 << 20;
const RATIO: u64 = 32;

/// Finds the chunks of `file`. Adds a warning to `header` if they have more points than it says.
///
/// # Errors
/// Returns an error if the chunk table or a chunk does not fit the file or the number of points.
pub fn find(file: &[u8], header: &mut Header) -> Result<Vec<Chunk>> {
    let (start, record, count) = (header.start, header.record, header.count);
    let Some(vlr) = &header.laszip else {
        let block = |first: u64| {
            let points = BLOCK.min(count - first);
            let (at, bytes) = (start + first * record, points * record);
            Chunk { at, bytes, points }
        };
        return Ok((0..count).step_by(BLOCK as usize).map(block).collect());
    };
    let mut chunks = Vec::new();
    if count == 0 {
        return Ok(chunks);
    }
    let fits = |at: u64, bytes: u64, points: u64| {
        ensure!(
            points.saturating_mul(record) <= MOST + RATIO * bytes,
            "byte {at}: {points} points of {record} bytes in a chunk of {bytes} bytes: the file is damaged"
        );
        Ok(())
    };
    // The points begin with the 8 bytes that say where the table is.
    let (mut at, end) = (start + 8, table_place(file, start)?);
    let table = read_table(file, at, end, record, vlr)?;
    let (mut left, mut more) = (count, false);
    for (i, entry) in table.into_iter().enumerate() {
        let bytes = entry.byte_count;
        ensure!(
            bytes <= end - at,
            "chunk {i}: {bytes} bytes from byte {at} reach beyond the chunk table at byte {end}: the file is damaged"
        );
        // COPC writers leave empty chunks.
        if bytes == 0 {
            continue;
        }
        let points = if header.number >= 6 {
            layered_points(file, at, bytes, record, vlr).with_context(|| format!("chunk {i}"))?
        } else if vlr.uses_variable_size_chunks() {
            entry.point_count
        } else {
            u64::from(vlr.chunk_size()).min(left)
        };
        more |= points > left || left == 0;
        let points = points.min(left);
        fits(at, bytes, points)?;
        if points > 0 {
            chunks.push(Chunk { at, bytes, points });
        }
        at += bytes;
        left -= points;
    }
    ensure!(
        left == 0,
        "the header says {count} points, the chunk table has {}: the file is damaged or was never finished",
        count - left
    );
    if more {
        let text = format!("the header says {count} points, and the file has more: the others are not read");
        header.warning = Some(text);
    }
    Ok(chunks)
}

/// Offset of the chunk table: from the first 8 bytes of the points or, if the writer could not seek, from the file's
/// last 8.
fn table_place(file: &[u8], start: u64) -> Result<u64> {
    let (first, len, mut place) = (start + 8, file.len() as u64, 0);
    for at in [start, len.saturating_sub(8)] {
        place = u64::from_le_bytes(part(file, at, 8)?.try_into()?);
        if place >= first && place.saturating_add(8) <= len {
            return Ok(place);
        }
        // Only a writer that could not seek leaves a place before the points.
        if place as i64 > start as i64 {
            break;
        }
    }
    bail!(
        "byte {start}: expected a chunk table between byte {first} and the file's end at {len}, found byte {place}: the file is truncated or damaged, copy or download it again"
    )
}

fn read_table(file: &[u8], first: u64, table: u64, record: u64, vlr: &LazVlr) -> Result<ChunkTable> {
    let at = table + 4;
    let number = u64::from(u32::from_le_bytes(part(file, at, 4)?.try_into()?));
    // Every chunk begins with one uncompressed point. `laz` allocates entries for whatever number is claimed.
    let most = (table - first) / record;
    ensure!(
        number <= most,
        "byte {at}: expected a table of at most {most} chunks, found {number}: the file is damaged"
    );
    let mut from = Cursor::new(&file[table as usize..]);
    ChunkTable::read(&mut from, vlr.uses_variable_size_chunks())
        .with_context(|| format!("byte {table}: the chunk table is truncated"))
}

/// The number of points of a chunk of point formats 6 to 10. It begins with a record, its number of points and the length of
/// each layer. `laz` allocates whatever lengths are claimed.
fn layered_points(file: &[u8], at: u64, bytes: u64, record: u64, vlr: &LazVlr) -> Result<u64> {
    let layers = |item| match item {
        LazItemType::Point14 => 9,
        LazItemType::RGBNIR14 => 2,
        LazItemType::Byte14(n) => usize::from(n),
        _ => 1,
    };
    let layers: usize = vlr.items().iter().map(|i| layers(i.item_type())).sum();
    let head = part(file, at + record, 4 + 4 * layers as u64)?;
    let number = |b: &[u8]| u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let layers: u64 = head[4..].chunks_exact(4).map(number).sum();
    let claimed = record + head.len() as u64 + layers;
    ensure!(
        claimed <= bytes,
        "byte {at}: layers of {claimed} bytes in a chunk of {bytes}: the file is damaged"
    );
    Ok(number(head))
}

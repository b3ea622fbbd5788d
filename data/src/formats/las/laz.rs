//! Compressed points: chunks are decoded in parallel, or in order if the file has no chunk table.

use std::{
    fs::File,
    io::{BufReader, Cursor, Seek, SeekFrom},
    panic::{AssertUnwindSafe, catch_unwind},
};

use anyhow::{Context, Result, anyhow, ensure};
use laz::{
    LazVlr,
    record::{LayeredPointRecordDecompressor, RecordDecompressor, SequentialPointRecordDecompressor},
};
use rayon::prelude::*;

use super::{
    super::source::Source,
    Header,
    chunks::{self, Chunk, layered_size},
    read_at,
    record::Layout,
};
use crate::Cloud;

/// Records that are decoded at once: small enough for the cache.
const BLOCK: usize = 1024;
/// Chunks with this many points in all are decoded in parallel, then concatenated.
const GROUP: u64 = 4_000_000;

/// Opens the points of a compressed file of `len` bytes.
pub fn open(mut file: File, len: u64, header: Header) -> Result<Box<dyn Source>> {
    let vlr = header.laszip.clone().context("no LASzip record")?;
    let start = u64::from(header.raw.offset_to_point_data);
    let mut first = vec![0; header.layout.len];
    // Chunks follow the 8-byte offset of their table; a file that is one chunk (compressor 1) has no such offset.
    let found = if header.chunked() {
        chunks::find(&mut file, len, &header, &vlr)?
    } else {
        None
    };
    let begin = match &found {
        Some(chunks) => chunks.first().map_or(start, |c| c.at),
        None => start + if header.chunked() { 8 } else { 0 },
    };
    // The first point of a chunk is not compressed.
    read_at(&mut file, begin, &mut first)?;
    let layout = header.layout;
    let origin = layout.origin(&first);
    let Some(chunks) = found else {
        return Ok(Box::new(InOrder::new(file, begin, &header, vlr, origin)?));
    };
    Ok(Box::new(Chunked {
        file,
        layout,
        vlr,
        origin,
        chunks,
        next: 0,
        ready: Cloud::default(),
        given: 0,
    }))
}

/// Reads chunks whose byte ranges are known.
struct Chunked {
    file: File,
    layout: Layout,
    vlr: LazVlr,
    origin: [f64; 3],
    chunks: Vec<Chunk>,
    next: usize,
    /// A chunk with more points than were requested, and how many of them were returned.
    ready: Cloud,
    given: usize,
}

impl Source for Chunked {
    fn fill(&mut self, out: &mut Cloud, max: usize) -> Result<usize> {
        out.origin = self.origin;
        if self.given == self.ready.len() {
            let before = out.len();
            let group = self.group(max as u64);
            if !group.is_empty() {
                self.decode(group, out)?;
                return Ok(out.len() - before);
            }
            if self.next == self.chunks.len() {
                return Ok(0);
            }
            let mut ready = Cloud {
                origin: self.origin,
                ..Cloud::default()
            };
            let next = self.next;
            self.decode(next..next + 1, &mut ready)?;
            (self.ready, self.given) = (ready, 0);
        }
        let range = self.given..self.given + max.min(self.ready.len() - self.given);
        self.given = range.end;
        out.xyz.extend(&self.ready.xyz[range.clone()]);
        out.intensity.extend(&self.ready.intensity[range.clone()]);
        out.class.extend(&self.ready.class[range.clone()]);
        out.returns.extend(&self.ready.returns[range.clone()]);
        Ok(range.len())
    }
}

impl Chunked {
    /// The next chunks with at most `max` points in all.
    fn group(&self, max: u64) -> std::ops::Range<usize> {
        let mut points = 0;
        let fits = |c: &&Chunk| {
            points += c.points;
            points <= max && points <= GROUP.max(c.points)
        };
        let n = self.chunks[self.next..].iter().take_while(fits).count();
        self.next..self.next + n
    }

    fn decode(&mut self, group: std::ops::Range<usize>, out: &mut Cloud) -> Result<()> {
        let chunks = &self.chunks[group.clone()];
        self.next = group.end;
        let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else {
            return Ok(());
        };
        // Chunks are consecutive and within the file, so this is never longer than the file.
        let mut bytes = vec![0; (last.at + last.bytes - first.at) as usize];
        read_at(&mut self.file, first.at, &mut bytes)?;
        let decoded: Vec<Result<Cloud>> = chunks
            .par_iter()
            .enumerate()
            .map(|(i, c)| {
                let data = &bytes[(c.at - first.at) as usize..][..c.bytes as usize];
                decode_chunk(data, c.points, &self.vlr, &self.layout, self.origin)
                    .with_context(|| format!("chunk {} at byte {}", group.start + i, c.at))
            })
            .collect();
        let decoded = decoded.into_iter().collect::<Result<Vec<_>>>()?;
        out.xyz.reserve(decoded.iter().map(Cloud::len).sum());
        for cloud in decoded {
            out.append(cloud);
        }
        Ok(())
    }
}

/// Decodes one chunk. Memory grows with the points that were decoded, not with those that are claimed.
fn decode_chunk(data: &[u8], points: u64, vlr: &LazVlr, layout: &Layout, origin: [f64; 3]) -> Result<Cloud> {
    let mut cloud = Cloud {
        origin,
        ..Cloud::default()
    };
    if layout.number >= 6 {
        check_layers(data, points, vlr, layout)?;
    }
    guarded(|| {
        let mut decoder = decompressor(Cursor::new(data), vlr)?;
        decode_points(decoder.as_mut(), points, layout, &mut cloud)
    })?;
    Ok(cloud)
}

/// Checks the lengths of a chunk's layers, because `laz` allocates whatever they claim.
fn check_layers(data: &[u8], points: u64, vlr: &LazVlr, layout: &Layout) -> Result<()> {
    let head = data.get(..layout.len + 4 + 4 * chunks::layers(vlr));
    let head =
        head.context("expected the lengths of its layers, found the end of the chunk: the file is damaged")?;
    let (said, bytes) = layered_size(head, layout.len);
    ensure!(
        bytes <= data.len() as u64 && said >= points,
        "expected {points} points in {} bytes, found {said} in {bytes}: the file is damaged",
        data.len()
    );
    Ok(())
}

type Decompressor<'a, R> = Box<dyn RecordDecompressor<R> + Send + 'a>;

fn decompressor<'a, R>(from: R, vlr: &LazVlr) -> Result<Decompressor<'a, R>>
where
    R: std::io::Read + Seek + Send + Sync + 'a,
{
    let layered = vlr.items().first().is_some_and(|i| i.version() >= 3);
    let mut d: Decompressor<'a, R> = if layered {
        Box::new(LayeredPointRecordDecompressor::new(from))
    } else {
        Box::new(SequentialPointRecordDecompressor::new(from))
    };
    d.set_fields_from(vlr.items())?;
    d.set_selection(Layout::selection());
    Ok(d)
}

fn decode_points<R>(
    decoder: &mut (dyn RecordDecompressor<R> + Send + '_),
    points: u64,
    layout: &Layout,
    out: &mut Cloud,
) -> Result<()> {
    let mut records = layout.buffer();
    let mut left = points;
    while left > 0 {
        let n = left.min(BLOCK as u64);
        decoder
            .decompress_many(records.resize_for(n as usize))
            .with_context(|| {
                format!(
                    "within the last {left} of {points} points: the compressed data are damaged or truncated"
                )
            })?;
        layout.append(&records, out);
        left -= n;
    }
    Ok(())
}

/// Runs a decoder of `laz` and turns its panic into an error.
///
/// The headers were checked before. But damaged bytes within a chunk can lead the arithmetic decoder to an index out
/// of range or to an overflow, and only decoding can find that.
fn guarded(decode: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| {
        Err(anyhow!(
            "the compressed data are damaged: the decoder gave up; copy or download the file again"
        ))
    })
}

/// Reads points that can be decoded only in order: one chunk, or chunks without a table.
struct InOrder {
    layout: Layout,
    vlr: LazVlr,
    origin: [f64; 3],
    decoder: Decompressor<'static, BufReader<File>>,
    left: u64,
    /// Points left in this chunk; then the decoder is reset.
    chunk_left: u64,
}

impl InOrder {
    fn new(mut file: File, at: u64, header: &Header, vlr: LazVlr, origin: [f64; 3]) -> Result<Self> {
        file.seek(SeekFrom::Start(at))?;
        let chunk_left = if header.chunked() {
            u64::from(vlr.chunk_size())
        } else {
            u64::MAX
        };
        Ok(Self {
            layout: header.layout,
            origin,
            decoder: decompressor(BufReader::new(file), &vlr)?,
            left: header.count,
            chunk_left,
            vlr,
        })
    }
}

impl Source for InOrder {
    fn fill(&mut self, out: &mut Cloud, max: usize) -> Result<usize> {
        out.origin = self.origin;
        if self.chunk_left == 0 {
            self.decoder.reset();
            self.decoder.set_fields_from(self.vlr.items())?;
            self.chunk_left = u64::from(self.vlr.chunk_size());
        }
        let n = self.left.min(max as u64).min(self.chunk_left);
        let (decoder, layout) = (self.decoder.as_mut(), &self.layout);
        let left = self.left;
        guarded(|| decode_points(decoder, n, layout, out))
            .with_context(|| format!("{left} points before the end"))?;
        self.left -= n;
        self.chunk_left -= n;
        Ok(n as usize)
    }
}

//! Compressed points: chunks are decoded in parallel, or in order if the file has no chunk table.

use std::{
    cell::Cell,
    fs::File,
    io::{BufReader, Cursor, Read, Seek, SeekFrom},
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use anyhow::{Context, Result, anyhow, ensure};
use laz::{
    LazVlr,
    record::{LayeredPointRecordDecompressor, RecordDecompressor, SequentialPointRecordDecompressor},
};
use rayon::prelude::*;

use super::{
    super::source::{PIECE, Source},
    Header,
    chunks::{self, Chunk, layered_size},
    read_at,
    record::Layout,
};
use crate::Cloud;

/// Records that are decoded at once: small enough for the cache.
const BLOCK: u64 = 1024;

/// What decoding needs to know of a file.
struct Packed {
    layout: Layout,
    vlr: LazVlr,
    origin: [f64; 3],
    /// Points of decoded chunks, and chunks, that are beyond the number of points in the header.
    unread: AtomicU64,
}

/// Opens the points of a compressed file of `len` bytes.
pub fn open(mut file: File, len: u64, header: &Header) -> Result<Box<dyn Source>> {
    let vlr = header.laszip.clone().context("no LASzip record")?;
    let start = u64::from(header.raw.offset_to_point_data);
    // Chunks follow the 8-byte offset of their table; a file that is one chunk (compressor 1) has no such offset.
    let mut found = if header.chunked() {
        chunks::find(&mut file, len, header, &vlr)?
    } else {
        None
    };
    let mut unread = 0;
    if let Some(chunks) = &mut found {
        chunks.retain(|c| {
            unread += u64::from(c.points == 0);
            c.points > 0
        });
    }
    let begin = match &found {
        Some(chunks) => chunks.first().map_or(start, |c| c.at),
        None => start + if header.chunked() { 8 } else { 0 },
    };
    // The first point of a chunk is not compressed.
    let mut first = vec![0; header.layout.len];
    read_at(&mut file, begin, &mut first)?;
    let packed = Packed {
        layout: header.layout,
        vlr,
        origin: header.layout.origin(&first),
        unread: AtomicU64::new(unread),
    };
    if let Some(chunks) = found {
        return Ok(Box::new(Chunked {
            file,
            packed,
            chunks: chunks.into_iter().enumerate().collect(),
        }));
    }
    file.seek(SeekFrom::Start(begin))?;
    let chunk = if header.chunked() {
        u64::from(packed.vlr.chunk_size())
    } else {
        u64::MAX
    };
    Ok(Box::new(InOrder {
        decoder: guarded(|| packed.decompressor(BufReader::new(file)))?,
        packed,
        left: header.count,
        chunk,
        chunk_left: chunk,
    }))
}

/// Reads chunks whose byte ranges are known.
struct Chunked {
    file: File,
    packed: Packed,
    /// The chunks that are not decoded yet, with their numbers.
    chunks: Vec<(usize, Chunk)>,
}

impl Source for Chunked {
    fn next(&mut self) -> Result<Option<Cloud>> {
        let mut points = 0;
        let fits = |(_, c): &&(usize, Chunk)| {
            points += c.points;
            points <= c.points.max(PIECE as u64)
        };
        let n = self.chunks.iter().take_while(fits).count();
        let group: Vec<(usize, Chunk)> = self.chunks.drain(..n).collect();
        let (Some((_, first)), Some((_, last))) = (group.first(), group.last()) else {
            return Ok(None);
        };
        // Chunks are consecutive and within the file, so this is never longer than the file.
        let mut bytes = vec![0; (last.at + last.bytes - first.at) as usize];
        read_at(&mut self.file, first.at, &mut bytes)?;
        let decoded: Vec<Result<Cloud>> = group
            .par_iter()
            .map(|(number, c)| {
                let data = &bytes[(c.at - first.at) as usize..][..c.bytes as usize];
                let cloud = self.packed.chunk(data, c.points);
                cloud.with_context(|| format!("chunk {number} at byte {}", c.at))
            })
            .collect();
        let mut all = Cloud::default();
        for cloud in decoded {
            all.append(cloud?);
        }
        Ok(Some(all))
    }

    fn warnings(&self) -> Vec<String> {
        let unread = self.packed.unread.load(Relaxed) > 0;
        let text = "the header says fewer points than the file has: the others are not read";
        unread.then(|| text.to_owned()).into_iter().collect()
    }
}

/// Reads points that can be decoded only in order: one chunk, or chunks without a table.
struct InOrder {
    packed: Packed,
    decoder: Decompressor<'static, BufReader<File>>,
    left: u64,
    /// Points of a chunk, and of this one those that are left; then the decoder is reset.
    chunk: u64,
    chunk_left: u64,
}

impl Source for InOrder {
    fn next(&mut self) -> Result<Option<Cloud>> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.chunk_left == 0 {
            self.decoder.reset();
            self.decoder.set_fields_from(self.packed.vlr.items())?;
            self.chunk_left = self.chunk;
        }
        let n = self.left.min(PIECE as u64).min(self.chunk_left);
        let cloud = guarded(|| self.packed.points(self.decoder.as_mut(), n))
            .with_context(|| format!("{} points before the end", self.left))?;
        self.left -= n;
        self.chunk_left -= n;
        Ok(Some(cloud))
    }
}

type Decompressor<'a, R> = Box<dyn RecordDecompressor<R> + Send + 'a>;

impl Packed {
    /// Decodes one chunk of `points`. Memory grows with the points that were decoded, not with those that are claimed.
    fn chunk(&self, data: &[u8], points: u64) -> Result<Cloud> {
        if self.layout.number >= 6 {
            // `laz` allocates whatever the lengths of the layers claim.
            let head = data.get(..self.layout.len + 4 + 4 * chunks::layers(&self.vlr));
            let head = head.context(
                "expected the lengths of its layers, found the end of the chunk: the file is damaged",
            )?;
            let (said, bytes) = layered_size(head, self.layout.len);
            ensure!(
                bytes <= data.len() as u64 && said >= points,
                "expected {points} points in {} bytes, found {said} in {bytes}: the file is damaged",
                data.len()
            );
            self.unread.fetch_add(said - points, Relaxed);
        }
        guarded(|| self.points(self.decompressor(Cursor::new(data))?.as_mut(), points))
    }

    fn decompressor<'a, R>(&self, from: R) -> Result<Decompressor<'a, R>>
    where
        R: Read + Seek + Send + Sync + 'a,
    {
        let layered = self.vlr.items().first().is_some_and(|i| i.version() >= 3);
        let mut d: Decompressor<'a, R> = if layered {
            Box::new(LayeredPointRecordDecompressor::new(from))
        } else {
            Box::new(SequentialPointRecordDecompressor::new(from))
        };
        d.set_fields_from(self.vlr.items())?;
        d.set_selection(Layout::selection());
        Ok(d)
    }

    fn points<R>(&self, decoder: &mut (dyn RecordDecompressor<R> + Send + '_), points: u64) -> Result<Cloud> {
        let mut cloud = Cloud {
            origin: self.origin,
            ..Cloud::default()
        };
        let mut records = self.layout.buffer();
        let mut left = points;
        while left > 0 {
            let n = left.min(BLOCK);
            decoder
                .decompress_many(records.resize_for(n as usize))
                .with_context(|| {
                    format!("within the last {left} of {points} points: the compressed data are damaged or truncated")
                })?;
            self.layout.append(&records, &mut cloud);
            left -= n;
        }
        Ok(cloud)
    }
}

thread_local! {
    /// Whether this thread is in [`guarded`].
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder of `laz` and turns its panic into an error.
///
/// The headers were checked before. But damaged bytes within a chunk can lead the arithmetic decoder to an index out
/// of range or to an overflow, and only decoding can find that.
fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    DECODING.set(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    result.unwrap_or_else(|_| {
        Err(anyhow!(
            "the compressed data are damaged: the decoder gave up; copy or download the file again"
        ))
    })
}

/// From now on, the messages of panics that a reader of LAZ turns into errors are not printed. All others are printed as
/// before, those of the writer too.
pub fn hide_decoder_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !DECODING.get() {
            usual(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_decoder_is_an_error() {
        let error = guarded::<()>(|| panic!("index out of range")).unwrap_err();
        assert!(error.to_string().contains("gave up"), "{error}");
        assert!(!DECODING.get());
    }
}

//! Decompressing a chunk of points.

use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe, catch_unwind},
};

use anyhow::{Result, anyhow};
use laz::{DecompressionSelection, LazVlr, laszip::ChunkTableEntry};

thread_local! {
    /// Whether this thread is in [`guarded`].
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Decompresses the `points` of a chunk into `records`.
pub fn decompress(chunk: &[u8], points: u64, vlr: &LazVlr, records: &mut [u8]) -> Result<()> {
    let entry = ChunkTableEntry {
        point_count: points,
        byte_count: chunk.len() as u64,
    };
    // Formats 6 to 10 store each field in a layer of its own, and the other layers are skipped.
    let fields = DecompressionSelection::xy_returns_channel()
        .decompress_z()
        .decompress_classification()
        .decompress_intensity();
    // One chunk is decompressed in this thread, so that `guarded` catches its panics.
    guarded(|| laz::par_decompress_selective(chunk, records, vlr, &[entry], fields).map_err(Into::into))
}

/// Runs a decoder of `laz` and turns its panic into an error.
///
/// The headers were checked before. But damaged bytes within a chunk can lead the arithmetic decoder to an index out
/// of range or to an overflow, and only decoding can find that.
fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    DECODING.set(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    result.unwrap_or_else(|_| Err(anyhow!("the decoder gave up")))
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
#[test]
fn a_panic_of_the_decoder_is_an_error() {
    let error = guarded::<()>(|| panic!("index out of range")).unwrap_err();
    assert!(error.to_string().contains("gave up"), "{error}");
    assert!(!DECODING.get());
}

//! Values of other types than f32 between ranks. A collective copies what it gathers bit by bit, so values of 4 or 8 bytes
//! travel as f32 without a conversion, and others as JSON.

use anyhow::Result;
use bytemuck::Pod;
use serde::{Serialize, de::DeserializeOwned};

use super::Collective;

/// Gathers `mine` of all ranks, in the order of the ranks. Each rank passes as many values, of a multiple of 4 bytes each.
///
/// # Errors
/// As [`Collective::all_gather`].
pub fn gather<T: Pod>(link: &dyn Collective, mine: &[T]) -> Result<Vec<T>> {
    let mut whole = vec![T::zeroed(); mine.len() * link.world_size()];
    link.all_gather(bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(&mut whole))?;
    Ok(whole)
}

/// Gathers one value of each rank as JSON, in the order of the ranks.
///
/// # Errors
/// As [`Collective::all_gather`], and if a value cannot be written as JSON or read from it.
pub fn gather_json<T: Serialize + DeserializeOwned>(link: &dyn Collective, mine: &T) -> Result<Vec<T>> {
    let text = serde_json::to_vec(mine)?;
    let lengths = gather(link, &[text.len() as u64])?;
    let longest = lengths.into_iter().max().unwrap_or_default() as usize;
    // JSON ignores spaces at its end.
    let mut padded = vec![[b' '; size_of::<f32>()]; longest.div_ceil(size_of::<f32>())];
    padded.as_flattened_mut()[..text.len()].copy_from_slice(&text);
    let words: Vec<u32> = padded.into_iter().map(u32::from_ne_bytes).collect();
    let all = gather(link, &words)?;
    let texts = all.chunks_exact(words.len()).map(bytemuck::cast_slice);
    texts.map(|text| Ok(serde_json::from_slice(text)?)).collect()
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;
    use crate::parallel::{Algorithm, Link, threads::group};

    #[test]
    fn values_of_all_ranks_arrive_bit_by_bit_and_in_order() {
        let ranks = group(3, Algorithm::Ring, Duration::from_secs(20));
        thread::scope(|scope| {
            for link in ranks {
                scope.spawn(move || {
                    let rank = link.rank() as u64;
                    // The bits of some are those of a NaN in f32.
                    let numbers = gather(&link, &[u64::MAX - rank, rank << 40]).unwrap();
                    assert_eq!(
                        numbers,
                        [u64::MAX, 0, u64::MAX - 1, 1 << 40, u64::MAX - 2, 2 << 40]
                    );
                    let tenths = gather(&link, &[rank as f64 / 10.0]).unwrap();
                    assert_eq!(tenths, [0.0, 0.1, 0.2]);
                    let names = gather_json(&link, &"Bäume".repeat(link.rank())).unwrap();
                    assert_eq!(names, ["", "Bäume", "BäumeBäume"]);
                });
            }
        });
    }
}

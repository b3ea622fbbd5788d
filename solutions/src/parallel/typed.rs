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

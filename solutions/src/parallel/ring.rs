//! Ring all-reduce (Patarasuk and Yuan 2009). Each rank exchanges messages only with its neighbours and sends 2(p − 1)/p
//! times the data for p ranks, which is the lower bound for any algorithm.

use std::ops::Range;

use anyhow::{Result, ensure};

use super::Link;

/// Returns the range of rank `rank`'s chunk of `length` numbers. The chunks of all ranks partition `0..length`; their
/// lengths differ by one at most.
pub fn chunk(length: usize, rank: usize, world_size: usize) -> Range<usize> {
    let start = |r: usize| r * length / world_size;
    start(rank)..start(rank + 1)
}

/// Sums `data` over all ranks so that each rank holds the complete sum of its own [`chunk`]. The rest of `data` holds
/// partial sums afterwards.
///
/// In each of p − 1 steps, every rank sends one chunk to the next rank and adds the chunk that it receives from the
/// previous rank. Chunk c starts at rank c + 1 and reaches rank c last.
///
/// # Errors
/// Returns an error if a message cannot be sent or received.
pub fn ring_reduce_scatter(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (rank, p) = (link.rank(), link.world_size());
    let (next, before) = ((rank + 1) % p, (rank + p - 1) % p);
    let mut incoming = Vec::new();
    for step in 0..p - 1 {
        let out = chunk(data.len(), (rank + 2 * p - 1 - step) % p, p);
        let into = chunk(data.len(), (rank + 2 * p - 2 - step) % p, p);
        link.send(next, &data[out])?;
        incoming.resize(into.len(), 0.0);
        link.receive(before, &mut incoming)?;
        for (sum, value) in data[into].iter_mut().zip(&incoming) {
            *sum += value;
        }
    }
    Ok(())
}

/// Gathers the [`chunk`]s of all ranks into `data`. On entry each rank's own chunk is at its position in `data`; the other
/// chunks arrive around the ring in p − 1 steps.
///
/// # Errors
/// Returns an error if a message cannot be sent or received.
pub fn ring_all_gather(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (rank, p) = (link.rank(), link.world_size());
    let (next, before) = ((rank + 1) % p, (rank + p - 1) % p);
    for step in 0..p - 1 {
        let out = chunk(data.len(), (rank + p - step) % p, p);
        let into = chunk(data.len(), (rank + 2 * p - 1 - step) % p, p);
        link.send(next, &data[out])?;
        link.receive(before, &mut data[into])?;
    }
    Ok(())
}

/// Replaces `data` by its sum over all ranks. The sums are bit-identical on every rank, because each is computed once and
/// then copied.
///
/// # Errors
/// Returns an error if the group has no ranks, or if a message cannot be sent or received.
pub fn ring_all_reduce(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    ensure!(link.world_size() > 0, "all-reduce: the group has no ranks");
    ring_reduce_scatter(link, data)?;
    ring_all_gather(link, data)
}

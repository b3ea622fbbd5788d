//! All-reduce around a ring (Patarasuk and Yuan 2009): each rank speaks only to its neighbours, and sends
//! 2(p − 1)/p times the data, however many ranks p there are: no algorithm sends less.

use std::ops::Range;

use anyhow::{Result, ensure};

use super::Link;

/// Rank `rank`'s share of `length` numbers: all shares together are the whole, and they differ by one number at most.
pub fn chunk(length: usize, rank: usize, world_size: usize) -> Range<usize> {
    let start = |r: usize| r * length / world_size;
    start(rank)..start(rank + 1)
}

/// Sums `data` over all ranks such that each holds the sum of its own [`chunk`]; the rest of `data` is left in pieces.
///
/// In p − 1 steps each rank sends a chunk to the next rank and adds what the rank before sends: chunk c starts at
/// rank c + 1 and comes to rank c last.
///
/// # Errors
/// The link's.
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

/// Joins the [`chunk`]s of all ranks: each rank's own stands in its place in `data`, the others come around the ring.
///
/// # Errors
/// The link's.
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

/// Replaces `data` by its sum over all ranks, bit for bit the same on each: a sum is made once and copied.
///
/// # Errors
/// The link's.
pub fn ring_all_reduce(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    ensure!(
        link.world_size() > 0,
        "a group without ranks has nothing to reduce"
    );
    ring_reduce_scatter(link, data)?;
    ring_all_gather(link, data)
}

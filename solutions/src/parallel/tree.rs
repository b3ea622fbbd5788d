use anyhow::Result;

use super::Link;

/// Replaces `data` by its sum over all ranks: up a binomial tree to rank 0 and down again, in 2⌈log₂ p⌉ messages one
/// after another. Few steps, but each carries all the data: for short messages.
///
/// # Errors
/// The link's.
pub fn tree_all_reduce(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (rank, p) = (link.rank(), link.world_size());
    let mut incoming = vec![0.0; data.len()];
    let mut distance = 1;
    while distance < p {
        if rank % (2 * distance) == distance {
            link.send(rank - distance, data)?;
            break;
        }
        if rank + distance < p {
            link.receive(rank + distance, &mut incoming)?;
            for (sum, value) in data.iter_mut().zip(&incoming) {
                *sum += value;
            }
        }
        distance *= 2;
    }
    tree_broadcast(link, 0, data)
}

/// Replaces `data` by rank `root`'s, down a binomial tree.
///
/// # Errors
/// The link's.
pub fn tree_broadcast(link: &dyn Link, root: usize, data: &mut [f32]) -> Result<()> {
    let p = link.world_size();
    // Ranks counted from the root.
    let place = (link.rank() + p - root) % p;
    let rank_at = |place: usize| (place + root) % p;
    let mut distance = p.next_power_of_two();
    while distance > 1 {
        let half = distance / 2;
        if place.is_multiple_of(distance) {
            if place + half < p {
                link.send(rank_at(place + half), data)?;
            }
        } else if place % distance == half {
            link.receive(rank_at(place - half), data)?;
        }
        distance = half;
    }
    Ok(())
}

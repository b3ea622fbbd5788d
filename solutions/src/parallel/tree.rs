use anyhow::Result;

use super::Link;

/// Replaces `data` by its sum over all ranks: a reduction up a binomial tree to rank 0, then a broadcast down the tree.
/// This takes 2⌈log₂ p⌉ messages one after another for p ranks, each with all the data, so it suits short messages.
///
/// # Errors
/// Returns an error if a message cannot be sent or received.
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

/// Replaces `data` by that of rank `root`, sent down a binomial tree.
///
/// # Errors
/// Returns an error if a message cannot be sent or received.
pub fn tree_broadcast(link: &dyn Link, root: usize, data: &mut [f32]) -> Result<()> {
    let p = link.world_size();
    // The rank relative to the root.
    let relative = (link.rank() + p - root) % p;
    let absolute = |relative: usize| (relative + root) % p;
    let mut distance = p.next_power_of_two();
    while distance > 1 {
        let half = distance / 2;
        if relative.is_multiple_of(distance) {
            if relative + half < p {
                link.send(absolute(relative + half), data)?;
            }
        } else if relative % distance == half {
            link.receive(absolute(relative - half), data)?;
        }
        distance = half;
    }
    Ok(())
}

//! Reduce-scatter and all-gather of each rank's own chunk, by the ring, for groups that send messages themselves.

use anyhow::{Result, ensure};

use super::{Link, chunk, ring_all_gather, ring_reduce_scatter};

/// As [`super::Collective::reduce_scatter`].
pub(super) fn reduce_scatter(link: &dyn Link, data: &[f32], mine: &mut [f32]) -> Result<()> {
    let own = chunk(data.len(), link.rank(), link.world_size());
    ensure!(
        mine.len() == own.len(),
        "reduce-scatter: rank {}'s chunk of {} numbers has {}, but the output has {}",
        link.rank(),
        data.len(),
        own.len(),
        mine.len()
    );
    let mut sums = data.to_vec();
    ring_reduce_scatter(link, &mut sums)?;
    mine.copy_from_slice(&sums[own]);
    Ok(())
}

/// As [`super::Collective::all_gather`].
pub(super) fn all_gather(link: &dyn Link, mine: &[f32], whole: &mut [f32]) -> Result<()> {
    let own = chunk(whole.len(), link.rank(), link.world_size());
    ensure!(
        mine.len() == own.len(),
        "all-gather: rank {}'s chunk of {} numbers has {}, but the input has {}",
        link.rank(),
        whole.len(),
        own.len(),
        mine.len()
    );
    whole[own].copy_from_slice(mine);
    ring_all_gather(link, whole)
}

//! Reduce-scatter and all-gather of each rank's own chunk, by the ring, for groups that send messages themselves.

use anyhow::Result;

use super::{Link, arguments, ring_all_gather, ring_reduce_scatter};

/// As [`super::Collective::reduce_scatter`].
pub(super) fn reduce_scatter(link: &dyn Link, data: &[f32], mine: &mut [f32]) -> Result<()> {
    let own = arguments::own_chunk(link, data.len(), mine)?;
    let mut sums = data.to_vec();
    ring_reduce_scatter(link, &mut sums)?;
    mine.copy_from_slice(&sums[own]);
    Ok(())
}

/// As [`super::Collective::all_gather`].
pub(super) fn all_gather(link: &dyn Link, mine: &[f32], whole: &mut [f32]) -> Result<()> {
    let own = arguments::own_chunk(link, whole.len(), mine)?;
    whole[own].copy_from_slice(mine);
    ring_all_gather(link, whole)
}

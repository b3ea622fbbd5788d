//! Checks of the arguments of messages and collectives, with the same errors for every engine.

use std::ops::Range;

use anyhow::{Result, ensure};

use super::{Link, chunk};

/// Checks that `other` is another rank of the group.
///
/// # Errors
/// Returns an error if it is not.
pub(super) fn check_other(link: &dyn Link, other: usize) -> Result<()> {
    ensure!(
        other < link.world_size() && other != link.rank(),
        "rank {} of {} has no link to rank {other}",
        link.rank(),
        link.world_size()
    );
    Ok(())
}

/// Checks that the root of a broadcast is a rank of the group.
///
/// # Errors
/// Returns an error if it is not.
pub(super) fn check_root(link: &dyn Link, root: usize) -> Result<()> {
    ensure!(
        root < link.world_size(),
        "broadcast: the root is rank {root}, but there are only {} ranks",
        link.world_size()
    );
    Ok(())
}

/// Returns this rank's [`chunk`] of `length` numbers, which `part` must be as long as.
///
/// # Errors
/// Returns an error if it is not.
pub(super) fn own_chunk(link: &dyn Link, length: usize, part: &[f32]) -> Result<Range<usize>> {
    let own = chunk(length, link.rank(), link.world_size());
    ensure!(
        part.len() == own.len(),
        "rank {}'s chunk of {length} numbers has {}, but the slice that was passed has {}",
        link.rank(),
        own.len(),
        part.len()
    );
    Ok(own)
}

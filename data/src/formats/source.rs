//! The interface of the readers, one per format.

use anyhow::Result;

use super::sink::Grid;
use crate::Cloud;

/// Points that a source reads at once, unless the format has a unit of its own: enough for all threads to compress.
pub(super) const PIECE: usize = 1 << 20;

/// Reads one format. Errors name the place in the file; [`Reader`](super::Reader) adds the file's name.
pub(super) trait Source: Send {
    /// The next points of the file, as many as suit the format; `None` at the end. All clouds have the same origin. A
    /// cloud is empty if all its points were dropped.
    fn next(&mut self) -> Result<Option<Cloud>>;

    /// How many points the header claims.
    fn count(&self) -> Option<u64>;

    /// The integer grid of the coordinates, in LAS and LAZ.
    fn grid(&self) -> Option<Grid> {
        None
    }

    /// How many points were dropped.
    fn dropped(&self) -> u64 {
        0
    }

    /// What the header says that the points do not confirm. Complete at the end of the file.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

//! The interface of the readers, one per format.

use anyhow::Result;

use super::sink::Grid;
use crate::Cloud;

/// What to do with a point whose coordinates are not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalid {
    /// Refuse the file.
    #[default]
    Error,
    /// Leave the point out and count it: [`Reader::dropped`](super::Reader::dropped).
    Drop,
}

/// Reads one format. Errors name the place in the file; [`Reader`](super::Reader) adds the file's name.
pub(super) trait Source: Send {
    /// Adds at most `max` points to `out` and sets its origin, which is the same in every call. Returns how many
    /// points were taken from the file, dropped ones included; 0 at the end of the file.
    fn fill(&mut self, out: &mut Cloud, max: usize) -> Result<usize>;

    /// How many points were dropped.
    fn dropped(&self) -> u64 {
        0
    }
}

/// A file whose header was read.
pub(super) struct Opened {
    /// How many points the header claims.
    pub count: Option<u64>,
    /// The integer grid of the coordinates, in LAS and LAZ.
    pub grid: Option<Grid>,
    /// Reads the points.
    pub source: Box<dyn Source>,
}

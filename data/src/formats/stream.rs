//! The interfaces of the readers and the writers, one of each per format.

use anyhow::Result;

use crate::Cloud;

/// The grid on which LAS and LAZ store coordinates: metres = integer × scale + offset, per axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Step along x, y and z, metres.
    pub scale: [f64; 3],
    /// Place of the integer 0, metres.
    pub offset: [f64; 3],
}

/// Points that a source reads at once, unless the format has a unit of its own: enough for all threads to compress.
pub const PIECE: usize = 1 << 20;

/// Reads one format. Errors name the place in the file; [`Reader`](super::Reader) adds the file's name.
pub trait Source: Send {
    /// The next points of the file, as many as suit the format; `None` at the end. All clouds have the same origin.
    fn next(&mut self) -> Result<Option<Cloud>>;

    /// How many points the header claims.
    fn count(&self) -> Option<u64>;

    /// The integer grid of the coordinates, in LAS and LAZ.
    fn grid(&self) -> Option<Grid> {
        None
    }

    /// What the header says that the points do not confirm. Complete at the end of the file.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Writes one format.
pub trait Sink: Send {
    /// Adds the points of `cloud`, which is valid and not empty.
    fn write(&mut self, cloud: &Cloud) -> Result<()>;

    /// Writes what is known only at the end.
    fn finish(self: Box<Self>) -> Result<()>;
}

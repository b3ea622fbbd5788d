//! What reading a file gives.

use crate::Cloud;

/// The grid on which LAS and LAZ store coordinates: metres = integer × scale + offset, per axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Step along x, y and z, metres.
    pub scale: [f64; 3],
    /// Place of the integer 0, metres.
    pub offset: [f64; 3],
}

/// A file that was read.
#[derive(Debug)]
pub struct Loaded {
    /// Its points.
    pub cloud: Cloud,
    /// The integer grid of the coordinates, in LAS and LAZ files.
    pub grid: Option<Grid>,
    /// What the header of a LAS or LAZ file says that its length or its points contradict.
    pub warnings: Vec<String>,
}

//! The interface of the writers, one per format, and their options.

use anyhow::Result;

use super::Format;
use crate::Cloud;

/// The grid on which LAS and LAZ store coordinates: metres = integer × scale + offset, per axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Step along x, y and z, metres.
    pub scale: [f64; 3],
    /// Place of the integer 0, metres.
    pub offset: [f64; 3],
}

/// How to write.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// The format; `None`: the one that the file name's extension says.
    pub format: Option<Format>,
    /// Step of the coordinates in LAS and LAZ, metres; `None`: that of `grid`, or 0.001 without one.
    pub resolution: Option<f64>,
    /// The grid of the file that the points come from, for LAS and LAZ.
    pub grid: Option<Grid>,
    /// Whether PLY is written as text.
    pub ascii: bool,
}

impl Options {
    /// The grid for a file whose first cloud has `origin`: the source's where it has one and the step was not given.
    pub(super) fn grid_for(&self, origin: [f64; 3]) -> Grid {
        match (self.resolution, self.grid) {
            (None, Some(grid)) if grid.reaches(origin) => grid,
            (None, Some(grid)) => Grid {
                offset: origin,
                ..grid
            },
            (step, _) => Grid {
                scale: [step.unwrap_or(0.001); 3],
                offset: origin,
            },
        }
    }
}

impl Grid {
    /// Whether `p` is well within the range of 32-bit integers.
    fn reaches(&self, p: [f64; 3]) -> bool {
        (0..3).all(|a| ((p[a] - self.offset[a]) / self.scale[a]).abs() < 2e9)
    }
}

/// Writes one format.
pub(super) trait Sink: Send {
    /// Adds the points of `cloud`, which is valid and not empty.
    fn write(&mut self, cloud: &Cloud) -> Result<()>;

    /// Writes what is known only at the end.
    fn finish(self: Box<Self>) -> Result<()>;
}

//! Clouds divided into tiles of rows, and how a tile's rows are read.

use std::ops::Range;

use super::layer::Source;
use crate::kernels::bf16::round;
use crate::kernels::maxima::TALL;

/// Buffers of one thread for the rows of a tile.
#[derive(Default)]
pub struct Buffers {
    pub rows: Vec<f32>,
    /// The rows behind the next layer.
    pub next: Vec<f32>,
    pub rounded: Vec<u16>,
}

/// The rows of a layer's input, dense and padded. Rows `from..to` are read or computed when `block` is called.
pub trait Blocks: Sync {
    fn block<'b>(&'b self, from: usize, to: usize, buffers: &'b mut Buffers) -> &'b [f32];

    /// Writes the rows to `out`.
    fn write(&self, from: usize, to: usize, buffers: &mut Buffers, out: &mut [f32]) {
        out.copy_from_slice(self.block(from, to, buffers));
    }
}

impl Blocks for Source<'_> {
    fn block<'b>(&'b self, from: usize, to: usize, buffers: &'b mut Buffers) -> &'b [f32] {
        Source::block(self, from, to, &mut buffers.rows)
    }

    fn write(&self, from: usize, to: usize, buffers: &mut Buffers, out: &mut [f32]) {
        match self {
            Source::Layer(l) => {
                l.activate(from, to, out);
                round(l.unit, out);
            }
            Source::Input { .. } => out.copy_from_slice(self.block(from, to, &mut buffers.rows)),
        }
    }
}

/// The rows of a tile: the points of a cloud are divided into tiles of equal length, at most 264 rows (22 register
/// tiles).
pub fn tile_rows(points: usize) -> usize {
    points.div_ceil(points.div_ceil(264)).next_multiple_of(TALL)
}

/// The tiles of all clouds, as (cloud, first row, end row).
pub fn tiles(clouds: &[Range<usize>]) -> Vec<(usize, usize, usize)> {
    let of_cloud = |(c, rows): (usize, &Range<usize>)| {
        let (tile, end) = (tile_rows(rows.len()), rows.end);
        let starts = rows.clone().step_by(tile);
        starts.map(move |from| (c, from, end.min(from + tile)))
    };
    clouds.iter().enumerate().flat_map(of_cloud).collect()
}

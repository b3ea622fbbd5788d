//! The f32 products of a block's rows with columns. Each sum adds in the order of the depth, as the register tile does, so it
//! is bit-identical.

use pulp::{Simd, WithSimd};

use super::HEIGHT;
use super::operands::{Columns, Rows};
use crate::kernels::instruction_set::dispatch_narrow;
use crate::kernels::tile::sums;

/// Columns whose products are computed side by side, because the additions of one sum wait for each other.
const BESIDE: usize = 8;

/// Computes the products of one block with some columns, and updates the greatest product of each column and its row.
pub struct Exact<'a> {
    pub rows: &'a Rows,
    pub columns: &'a Columns,
    pub block: usize,
    pub of: &'a [u32],
    pub best: &'a mut [f32],
    pub at: &'a mut [f32],
}

impl Exact<'_> {
    pub fn run(self) {
        assert!(self.rows.depth == self.columns.depth && self.columns.terms <= self.columns.depth);
        dispatch_narrow(self);
    }
}

impl WithSimd for Exact<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for of in self.of.chunks(BESIDE) {
            match S::F32_LANES {
                8 => self.some::<S, 1>(simd, of),
                4 => self.some::<S, 2>(simd, of),
                _ => self.some::<S, HEIGHT>(simd, of),
            }
        }
    }
}

impl Exact<'_> {
    /// The block's rows are `VECTORS` vectors.
    #[inline(always)]
    fn some<S: Simd, const VECTORS: usize>(&mut self, simd: S, of: &[u32]) {
        assert!(VECTORS * S::F32_LANES == HEIGHT);
        let depth = self.columns.depth;
        let (lines, _) = self.rows.packed[self.block * HEIGHT * depth..].as_chunks::<HEIGHT>();
        let lines = &lines[..self.columns.terms];
        let mut weights = [&[][..]; BESIDE];
        for (n, weights) in weights.iter_mut().enumerate() {
            let c = of[n.min(of.len() - 1)] as usize;
            *weights = &self.columns.exact[c * depth..][..depth];
        }
        // SAFETY: k < terms ≤ depth, and a line has HEIGHT values, which are VECTORS vectors.
        let sums = unsafe {
            let weight = |n: usize, k: usize| *weights[n].get_unchecked(k);
            sums::<S, f32, BESIDE, VECTORS>(simd, lines.len(), weight, lines.as_ptr().cast(), HEIGHT)
        };
        let order = &self.rows.order[self.block * HEIGHT..][..HEIGHT];
        for (&c, sums) in of.iter().zip(&sums) {
            let (best, at) = (&mut self.best[c as usize], &mut self.at[c as usize]);
            let top = sums[1..].iter().fold(sums[0], |top, &s| simd.max_f32s(top, s));
            if simd.reduce_max_f32s(top) < *best {
                continue;
            }
            let values: &[f32] = bytemuck::cast_slice(sums);
            for (&value, &row) in values.iter().zip(order) {
                let row = row as f32;
                if value > *best || (value == *best && row < *at) {
                    (*best, *at) = (value, row);
                }
            }
        }
    }
}

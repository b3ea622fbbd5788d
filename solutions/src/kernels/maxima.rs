//! The greatest value of each column of a product, without storing the product.

use pulp::{Simd, WithSimd};

use super::instruction_set::dispatch;
use super::tile::sums;

/// The greatest product of each column, and the first row that has it.
pub(super) struct Found<'a> {
    pub best: &'a mut [f32],
    /// Rows, counted from `first_row`.
    pub at: &'a mut [f32],
    pub first_row: usize,
}

/// Searches `a·b`. Continues from the content of `found`.
pub(super) struct Greatest<'a> {
    pub depth: usize,
    /// Blocks of [`TALL`] rows, from [`pack_rows`].
    pub a: &'a [f32],
    /// Panels of [`PANEL`] columns one after the other, each `depth × PANEL`.
    pub b: &'a [f32],
    pub found: Found<'a>,
}

/// Columns of a packed panel: with 128 rows 16 KiB, half of the L1 cache.
pub(super) const PANEL: usize = 32;

/// Rows of a packed block.
pub(super) const TALL: usize = 12;

/// Packs rows of `depth` values of a matrix with rows of `step` into blocks of [`TALL`], column by column. The last
/// block is filled up with its last row, which changes neither a maximum nor its first row.
pub(super) fn pack_rows(rows: &[f32], step: usize, depth: usize, packed: &mut Vec<f32>) {
    packed.resize((rows.len() / step).next_multiple_of(TALL) * depth, 0.0);
    for (block, rows) in packed
        .chunks_exact_mut(TALL * depth)
        .zip(rows.chunks(TALL * step))
    {
        let last = rows.len() / step - 1;
        for r in 0..TALL {
            let row = &rows[r.min(last) * step..][..depth];
            for (to, &v) in block[r..].iter_mut().step_by(TALL).zip(row) {
                *to = v;
            }
        }
    }
}

impl Greatest<'_> {
    pub fn run(self) {
        let columns = self.found.best.len();
        assert!(self.depth > 0 && columns.is_multiple_of(PANEL) && self.found.at.len() == columns);
        assert!(self.b.len() == self.depth * columns);
        assert!(self.a.len().is_multiple_of(TALL * self.depth));
        dispatch(self);
    }
}

impl WithSimd for Greatest<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: `run` has checked the operands against the sizes.
        unsafe {
            // As many sums as in a `Product`; a panel has two vectors of 16 lanes.
            if S::F32_LANES >= 16 {
                self.search::<S, TALL, 2>(simd);
            } else if S::REGISTER_COUNT >= 32 {
                self.search::<S, 6, 4>(simd);
            } else {
                self.search::<S, 6, 2>(simd);
            }
        }
    }
}

impl Greatest<'_> {
    /// In register tiles of H rows × W vectors of columns.
    #[inline(always)]
    unsafe fn search<S: Simd, const H: usize, const W: usize>(self, simd: S) {
        let depth = self.depth;
        let panels = self.b.chunks_exact(depth * PANEL);
        let Found { best, at, first_row } = self.found;
        let found = best.chunks_exact_mut(PANEL).zip(at.chunks_exact_mut(PANEL));
        for (b, (best, at)) in panels.zip(found) {
            for (i, a) in self.a.chunks_exact(TALL * depth).enumerate() {
                for from in (0..PANEL).step_by(W * S::F32_LANES) {
                    for skip in (0..TALL).step_by(H) {
                        // SAFETY: the caller's.
                        let sums = unsafe {
                            let a = a.as_ptr().add(skip);
                            let a = |i, k| *a.add(k * TALL).add(i);
                            sums::<S, f32, H, W>(simd, depth, a, b.as_ptr().add(from), PANEL)
                        };
                        let row = first_row + i * TALL + skip;
                        for j in 0..W {
                            let column = from + j * S::F32_LANES;
                            // SAFETY: W vectors from `from` on are in the panel.
                            unsafe {
                                let best = best.as_mut_ptr().add(column).cast::<S::f32s>();
                                let at = at.as_mut_ptr().add(column).cast::<S::f32s>();
                                let (mut top, mut index) = (best.read_unaligned(), at.read_unaligned());
                                for (i, line) in sums.iter().enumerate() {
                                    let greater = simd.less_than_f32s(top, line[j]);
                                    top = simd.select_f32s(greater, line[j], top);
                                    let row = simd.splat_f32s((row + i) as f32);
                                    index = simd.select_f32s(greater, row, index);
                                }
                                best.write_unaligned(top);
                                at.write_unaligned(index);
                            }
                        }
                    }
                }
            }
        }
    }
}

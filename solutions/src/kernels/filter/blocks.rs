//! The products of the 8-bit operands, and their form without special instructions.

use super::operands::{Columns, HEIGHT, Rows};
use crate::kernels::tile::PANEL;

/// One block of rows, and the operands that it and its columns are part of.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub rows: &'a Rows,
    pub columns: &'a Columns,
    pub block: usize,
}

impl Block<'_> {
    /// `[depth / 4, HEIGHT, 4]`.
    #[inline(always)]
    pub fn steps(&self) -> &[u8] {
        let size = HEIGHT * self.columns.depth;
        &self.rows.steps[self.block * size..][..size]
    }

    #[inline(always)]
    pub fn column(&self, c: usize) -> &[i8] {
        &self.columns.by_column[c * self.columns.depth..][..self.columns.depth]
    }

    /// Where each of the rows begins in f32.
    #[inline(always)]
    pub fn exact(&self) -> [*const f32; HEIGHT] {
        let depth = self.rows.depth;
        let rows = &self.rows.exact[self.block * HEIGHT * depth..][..HEIGHT * depth];
        std::array::from_fn(|r| rows[r * depth..].as_ptr())
    }

    /// Where column `c` begins in f32.
    #[inline(always)]
    pub fn exact_column(&self, c: usize) -> *const f32 {
        let depth = self.columns.depth;
        self.columns.exact[c * depth..][..depth].as_ptr()
    }

    /// E and A of the rows.
    #[inline(always)]
    pub fn terms(&self) -> [&[f32]; 2] {
        [&self.rows.error, &self.rows.size].map(|of| &of[self.block * HEIGHT..][..HEIGHT])
    }
}

/// One way to multiply. `rows` are blocks of `[depth / 4, HEIGHT, 4]`.
pub trait Multiply {
    /// For each block and column of a panel `[depth / 4, PANEL, 4]`, the greatest product over the block's rows.
    ///
    /// # Safety
    /// The machine has the instructions, and `maxima` has [`PANEL`] entries for each block.
    unsafe fn maxima(rows: &[u8], panel: &[i8], maxima: &mut [i32]);

    /// The products of one block's rows with one column.
    ///
    /// # Safety
    /// The machine has the instructions, and both operands have the same depth.
    unsafe fn block(rows: &[u8], column: &[i8]) -> [i32; HEIGHT];

    /// The row of the block with the greatest lower bound of its product with column `c`.
    ///
    /// # Safety
    /// The machine has the instructions, and rows and columns have the same depth.
    unsafe fn likely_row(block: Block, c: usize) -> usize;

    /// For each of four columns, the rows whose upper bound is not below the threshold, as bits.
    ///
    /// # Safety
    /// As for `likely_row`.
    unsafe fn reaching(block: Block, columns: [usize; 4], thresholds: [f32; 4]) -> [u32; 4];

    /// Which of the values are not below those of `threshold`, as bits.
    ///
    /// # Safety
    /// The machine has the instructions.
    unsafe fn not_below(values: &[f32; PANEL], threshold: &[f32; PANEL]) -> u32;

    /// The positions of the set bits of 16, ascending; what follows the last one has no meaning.
    ///
    /// # Safety
    /// The machine has the instructions.
    unsafe fn positions(mask: u16) -> [u32; 16];

    /// The f32 products of N times 16 pairs of a row and a column, in the order of the depth.
    ///
    /// # Safety
    /// The machine has the instructions. From each address, `depth` values, rounded up to a multiple of 16, can be read.
    unsafe fn exact<const N: usize>(
        depth: usize,
        rows: &[[*const f32; 16]; N],
        columns: &[[*const f32; 16]; N],
    ) -> [[f32; 16]; N];

    /// Prepares `exact_in_block` for one block.
    ///
    /// # Safety
    /// The machine has the instructions.
    unsafe fn prepare(block: Block, prepared: &mut Vec<f32>);

    /// As `exact`, for rows of one block, by their numbers in it.
    ///
    /// # Safety
    /// As for `exact`; `prepared` is this block's.
    unsafe fn exact_in_block<const N: usize>(
        block: Block,
        prepared: &[f32],
        rows: &[[u32; 16]; N],
        columns: &[[*const f32; 16]; N],
    ) -> [[f32; 16]; N];
}

/// The specification.
pub struct Portable;

impl Multiply for Portable {
    unsafe fn maxima(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
        let depth = panel.len() / PANEL;
        let mut column = vec![0; depth];
        for (block, maxima) in rows
            .chunks_exact(HEIGHT * depth)
            .zip(maxima.chunks_exact_mut(PANEL))
        {
            for (j, top) in maxima.iter_mut().enumerate() {
                for (four, from) in column.chunks_exact_mut(4).zip(panel.chunks_exact(4 * PANEL)) {
                    four.copy_from_slice(&from[4 * j..][..4]);
                }
                // SAFETY: no special instructions.
                let products = unsafe { Self::block(block, &column) };
                *top = products.into_iter().fold(i32::MIN, i32::max);
            }
        }
    }

    unsafe fn block(rows: &[u8], column: &[i8]) -> [i32; HEIGHT] {
        let mut sums = [0; HEIGHT];
        for (rows, column) in rows.chunks_exact(4 * HEIGHT).zip(column.chunks_exact(4)) {
            for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(4)) {
                let products = row.iter().zip(column).map(|(&q, &p)| i32::from(q) * i32::from(p));
                *sum += products.sum::<i32>();
            }
        }
        sums
    }

    unsafe fn likely_row(block: Block, c: usize) -> usize {
        let [low, _] = bounds(block, c);
        (1..HEIGHT).fold(0, |best, r| if low[r] > low[best] { r } else { best })
    }

    unsafe fn reaching(block: Block, columns: [usize; 4], thresholds: [f32; 4]) -> [u32; 4] {
        let scale = block.rows.scale[block.block];
        std::array::from_fn(|i| {
            let [_, high] = bounds(block, columns[i]);
            (0..HEIGHT).fold(0, |mask, r| {
                mask | u32::from(high[r] * scale >= thresholds[i]) << r
            })
        })
    }

    unsafe fn not_below(values: &[f32; PANEL], threshold: &[f32; PANEL]) -> u32 {
        (0..PANEL).fold(0, |mask, c| mask | u32::from(values[c] >= threshold[c]) << c)
    }

    unsafe fn positions(mask: u16) -> [u32; 16] {
        let mut set = (0..16).filter(|i| mask >> i & 1 == 1);
        std::array::from_fn(|_| set.next().unwrap_or(0))
    }

    unsafe fn exact<const N: usize>(
        depth: usize,
        rows: &[[*const f32; 16]; N],
        columns: &[[*const f32; 16]; N],
    ) -> [[f32; 16]; N] {
        // SAFETY: the caller's.
        std::array::from_fn(|n| unsafe { super::exact::portable(depth, &rows[n], &columns[n]) })
    }

    unsafe fn prepare(_: Block, _: &mut Vec<f32>) {}

    unsafe fn exact_in_block<const N: usize>(
        block: Block,
        _: &[f32],
        rows: &[[u32; 16]; N],
        columns: &[[*const f32; 16]; N],
    ) -> [[f32; 16]; N] {
        let all = block.exact();
        let rows = rows.map(|rows| rows.map(|r| all[r as usize]));
        // SAFETY: the caller's.
        unsafe { Self::exact(block.columns.terms, &rows, columns) }
    }
}

/// Lower and upper bounds of the products of one block's rows with column `c`, in steps.
fn bounds(block: Block, c: usize) -> [[f32; HEIGHT]; 2] {
    // SAFETY: no special instructions.
    let products = unsafe { Portable::block(block.steps(), block.column(c)) };
    let (w, d) = (block.columns.size[c], block.columns.error[c]);
    let [error, size] = block.terms();
    let bound = |r: usize| error[r] * w + size[r] * d;
    [
        std::array::from_fn(|r| products[r] as f32 - bound(r)),
        std::array::from_fn(|r| products[r] as f32 + bound(r)),
    ]
}

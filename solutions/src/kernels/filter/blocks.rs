//! The products of the 8-bit operands: without special instructions, and by `vpdpbusd`.

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
    fn steps(&self) -> &[u8] {
        let size = HEIGHT * self.columns.depth;
        &self.rows.steps[self.block * size..][..size]
    }

    #[inline(always)]
    fn column(&self, c: usize) -> &[i8] {
        &self.columns.by_column[c * self.columns.depth..][..self.columns.depth]
    }

    /// E and A of the rows.
    #[inline(always)]
    fn terms(&self) -> [&[f32]; 2] {
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

    /// The f32 products of up to 16 pairs of a row and a column, in the order of the depth.
    ///
    /// # Safety
    /// The machine has the instructions. From each address, `depth` values, rounded up to a multiple of 16, can be read.
    unsafe fn exact(depth: usize, rows: &[*const f32; 16], columns: &[*const f32; 16]) -> [f32; 16];
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

    unsafe fn exact(depth: usize, rows: &[*const f32; 16], columns: &[*const f32; 16]) -> [f32; 16] {
        // SAFETY: the caller's.
        unsafe { super::exact::portable(depth, rows, columns) }
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

#[cfg(target_arch = "x86_64")]
pub use vnni::Vnni;

#[cfg(target_arch = "x86_64")]
mod vnni {
    use std::arch::x86_64::*;

    use super::{Block, HEIGHT, Multiply};
    use crate::kernels::tile::PANEL;

    /// AVX512-VNNI.
    pub struct Vnni;

    impl Multiply for Vnni {
        #[inline(always)]
        unsafe fn maxima(rows: &[u8], panel: &[i8], out: &mut [i32]) {
            // SAFETY: the caller's.
            unsafe { maxima(rows, panel, out) }
        }

        #[inline(always)]
        unsafe fn block(rows: &[u8], column: &[i8]) -> [i32; HEIGHT] {
            let mut out = [0; HEIGHT];
            // SAFETY: the caller's; 16 values of 4 bytes.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), block(rows, column)) };
            out
        }

        #[inline(always)]
        unsafe fn likely_row(block: Block, c: usize) -> usize {
            // SAFETY: the caller's.
            unsafe { likely_row(block, c) }
        }

        #[inline(always)]
        unsafe fn reaching(block: Block, columns: [usize; 4], thresholds: [f32; 4]) -> [u32; 4] {
            // SAFETY: the caller's.
            unsafe { reaching(block, columns, thresholds) }
        }

        #[inline(always)]
        unsafe fn not_below(values: &[f32; PANEL], threshold: &[f32; PANEL]) -> u32 {
            // SAFETY: the caller's.
            unsafe { not_below(values, threshold) }
        }

        #[inline(always)]
        unsafe fn exact(depth: usize, rows: &[*const f32; 16], columns: &[*const f32; 16]) -> [f32; 16] {
            // SAFETY: the caller's.
            unsafe { super::super::exact::avx512(depth, rows, columns) }
        }
    }

    /// Half a block (8 rows) × 2 vectors of columns are 16 sums in registers.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn maxima(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
        const HALF: usize = HEIGHT / 2;
        let depth = panel.len() / PANEL;
        let blocks = rows.chunks_exact(HEIGHT * depth);
        for (block, maxima) in blocks.zip(maxima.chunks_exact_mut(PANEL)) {
            let mut top = [_mm512_set1_epi32(i32::MIN); 2];
            for half in 0..2 {
                let mut sums = [[_mm512_setzero_si512(); 2]; HALF];
                for k in 0..depth / 4 {
                    // SAFETY: a block has depth / 4 groups of HEIGHT · 4 bytes, a panel as many of PANEL · 4.
                    unsafe {
                        let p = panel.as_ptr().add(k * 4 * PANEL);
                        let p = [_mm512_loadu_si512(p.cast()), _mm512_loadu_si512(p.add(64).cast())];
                        let q = block.as_ptr().add((k * HEIGHT + half * HALF) * 4).cast::<i32>();
                        for (r, sums) in sums.iter_mut().enumerate() {
                            let q = _mm512_set1_epi32(q.add(r).read_unaligned());
                            for (sum, p) in sums.iter_mut().zip(p) {
                                *sum = _mm512_dpbusd_epi32(*sum, q, p);
                            }
                        }
                    }
                }
                for sums in sums {
                    for (top, sum) in top.iter_mut().zip(sums) {
                        *top = _mm512_max_epi32(*top, sum);
                    }
                }
            }
            for (to, top) in maxima.chunks_exact_mut(16).zip(top) {
                // SAFETY: 16 values of 4 bytes.
                unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), top) };
            }
        }
    }

    /// A block's rows are the lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn block(rows: &[u8], column: &[i8]) -> __m512i {
        let mut sums = [_mm512_setzero_si512(); 4];
        let groups = column.len() / 16;
        for k in 0..groups {
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the column has 16 · groups bytes, and the rows HEIGHT times as many.
                unsafe {
                    let q = _mm512_loadu_si512(rows.as_ptr().add((4 * k + i) * 4 * HEIGHT).cast());
                    let p = column.as_ptr().add((4 * k + i) * 4).cast::<i32>();
                    *sum = _mm512_dpbusd_epi32(*sum, q, _mm512_set1_epi32(p.read_unaligned()));
                }
            }
        }
        _mm512_add_epi32(
            _mm512_add_epi32(sums[0], sums[1]),
            _mm512_add_epi32(sums[2], sums[3]),
        )
    }

    /// The bounds on the errors of the products of the block's rows with column `c`, in steps.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn errors(block: Block, c: usize) -> __m512 {
        // SAFETY: 16 values.
        let [error, size] = block.terms().map(|of| unsafe { _mm512_loadu_ps(of.as_ptr()) });
        let of_size = _mm512_mul_ps(size, _mm512_set1_ps(block.columns.error[c]));
        _mm512_fmadd_ps(error, _mm512_set1_ps(block.columns.size[c]), of_size)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn likely_row(of: Block, c: usize) -> usize {
        // SAFETY: the caller's.
        let products = unsafe { _mm512_cvtepi32_ps(block(of.steps(), of.column(c))) };
        let lower = _mm512_sub_ps(products, errors(of, c));
        let top = _mm512_set1_ps(_mm512_reduce_max_ps(lower));
        (_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(lower, top).trailing_zeros() as usize).min(HEIGHT - 1)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn reaching(block: Block, columns: [usize; 4], thresholds: [f32; 4]) -> [u32; 4] {
        let mut sums = [_mm512_setzero_si512(); 4];
        let rows = block.steps().as_ptr();
        let steps = columns.map(|c| block.column(c).as_ptr());
        for k in 0..block.columns.depth / 4 {
            // SAFETY: the columns have `depth` steps, and the rows HEIGHT times as many.
            unsafe {
                let q = _mm512_loadu_si512(rows.add(k * 4 * HEIGHT).cast());
                for (sum, p) in sums.iter_mut().zip(steps) {
                    let p = p.cast::<i32>().add(k).read_unaligned();
                    *sum = _mm512_dpbusd_epi32(*sum, q, _mm512_set1_epi32(p));
                }
            }
        }
        let scale = _mm512_set1_ps(block.rows.scale[block.block]);
        let mut masks = [0; 4];
        for i in 0..4 {
            let upper = _mm512_add_ps(_mm512_cvtepi32_ps(sums[i]), errors(block, columns[i]));
            let threshold = _mm512_set1_ps(thresholds[i]);
            let mask = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(_mm512_mul_ps(upper, scale), threshold);
            masks[i] = u32::from(mask);
        }
        masks
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn not_below(values: &[f32; PANEL], threshold: &[f32; PANEL]) -> u32 {
        let half = |i: usize| {
            // SAFETY: both have 32 values.
            let [v, t] = [values, threshold].map(|of| unsafe { _mm512_loadu_ps(of.as_ptr().add(i)) });
            u32::from(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(v, t))
        };
        half(0) | half(16) << 16
    }
}

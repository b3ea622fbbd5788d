//! The products of the 8-bit operands: without special instructions, and by `vpdpbusd`.

use super::operands::HEIGHT;
use crate::kernels::tile::PANEL;

/// One block of rows and one column.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// `[depth / 4, HEIGHT, 4]`.
    pub rows: &'a [u8],
    /// The value of a step of the rows; E and A of each row.
    pub scale: f32,
    pub error: &'a [f32],
    pub size: &'a [f32],
    /// The column's steps, and its W and D.
    pub column: &'a [i8],
    pub column_size: f32,
    pub column_error: f32,
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

    /// The row of the block with the greatest lower bound.
    ///
    /// # Safety
    /// As for `block`; `error` and `size` have [`HEIGHT`] entries.
    unsafe fn likely_row(pair: &Pair) -> usize;

    /// The rows of the block whose upper bound is not below `threshold`, as bits.
    ///
    /// # Safety
    /// As for `likely_row`.
    unsafe fn reaching(pair: &Pair, threshold: f32) -> u32;

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

    unsafe fn likely_row(pair: &Pair) -> usize {
        // SAFETY: no special instructions.
        let products = unsafe { Self::block(pair.rows, pair.column) };
        let lower = |r: usize| products[r] as f32 - pair.bound(r);
        (1..HEIGHT).fold(0, |best, r| if lower(r) > lower(best) { r } else { best })
    }

    unsafe fn reaching(pair: &Pair, threshold: f32) -> u32 {
        // SAFETY: no special instructions.
        let products = unsafe { Self::block(pair.rows, pair.column) };
        let upper = |r: usize| (products[r] as f32 + pair.bound(r)) * pair.scale;
        (0..HEIGHT).fold(0, |mask, r| mask | u32::from(upper(r) >= threshold) << r)
    }

    unsafe fn exact(depth: usize, rows: &[*const f32; 16], columns: &[*const f32; 16]) -> [f32; 16] {
        // SAFETY: the caller's.
        unsafe { super::exact::portable(depth, rows, columns) }
    }
}

impl Pair<'_> {
    /// The bound on the error of one row's product, in steps.
    fn bound(&self, row: usize) -> f32 {
        self.error[row] * self.column_size + self.size[row] * self.column_error
    }
}

#[cfg(target_arch = "x86_64")]
pub use vnni::Vnni;

#[cfg(target_arch = "x86_64")]
mod vnni {
    use std::arch::x86_64::*;

    use super::{HEIGHT, Multiply, Pair};
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
        unsafe fn likely_row(pair: &Pair) -> usize {
            // SAFETY: the caller's.
            unsafe { likely_row(pair) }
        }

        #[inline(always)]
        unsafe fn reaching(pair: &Pair, threshold: f32) -> u32 {
            // SAFETY: the caller's.
            unsafe { reaching(pair, threshold) }
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

    /// The products as f32, and the bounds on their errors, in steps.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn bounds(pair: &Pair) -> (__m512, __m512) {
        // SAFETY: the caller's.
        let (products, error, size) = unsafe {
            (
                block(pair.rows, pair.column),
                _mm512_loadu_ps(pair.error.as_ptr()),
                _mm512_loadu_ps(pair.size.as_ptr()),
            )
        };
        let of_size = _mm512_mul_ps(size, _mm512_set1_ps(pair.column_error));
        let bound = _mm512_fmadd_ps(error, _mm512_set1_ps(pair.column_size), of_size);
        (_mm512_cvtepi32_ps(products), bound)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn likely_row(pair: &Pair) -> usize {
        // SAFETY: the caller's.
        let (products, bound) = unsafe { bounds(pair) };
        let lower = _mm512_sub_ps(products, bound);
        let top = _mm512_set1_ps(_mm512_reduce_max_ps(lower));
        (_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(lower, top).trailing_zeros() as usize).min(HEIGHT - 1)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn reaching(pair: &Pair, threshold: f32) -> u32 {
        // SAFETY: the caller's.
        let (products, bound) = unsafe { bounds(pair) };
        let upper = _mm512_mul_ps(_mm512_add_ps(products, bound), _mm512_set1_ps(pair.scale));
        u32::from(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(upper, _mm512_set1_ps(threshold)))
    }
}

//! The products of the 8-bit operands by `vpdpbusd` of AVX512-VNNI.

use std::arch::x86_64::*;

use super::blocks::{Block, Multiply};
use super::operands::HEIGHT;
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
    unsafe fn positions(mask: u16) -> [u32; 16] {
        // SAFETY: the caller's.
        unsafe { positions(mask) }
    }

    #[inline(always)]
    unsafe fn exact<const N: usize>(
        depth: usize,
        rows: &[[*const f32; 16]; N],
        columns: &[[*const f32; 16]; N],
    ) -> [[f32; 16]; N] {
        // SAFETY: the caller's.
        unsafe { super::exact::avx512(depth, rows, columns) }
    }

    #[inline(always)]
    unsafe fn prepare(block: Block, prepared: &mut Vec<f32>) {
        // SAFETY: the caller's; a row has `depth` values, a multiple of 16.
        unsafe { super::exact::transpose(block.rows.depth, &block.exact(), prepared) }
    }

    #[inline(always)]
    unsafe fn exact_in_block<const N: usize>(
        block: Block,
        prepared: &[f32],
        rows: &[[u32; 16]; N],
        columns: &[[*const f32; 16]; N],
    ) -> [[f32; 16]; N] {
        // SAFETY: the caller's.
        unsafe { super::exact::in_block(block.columns.terms, prepared, rows, columns) }
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

#[inline]
#[target_feature(enable = "avx512f")]
fn positions(mask: u16) -> [u32; 16] {
    let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let mut out = [0; 16];
    // SAFETY: 16 values of 4 bytes.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(mask, lanes)) };
    out
}

//! AVX512-BF16. The register tile is that of the f32 products: 6 rows × 4 vectors, or 12 × 2.

use std::arch::x86_64::*;

use super::pairs::Pack;
use super::tile::Product;

/// AVX512-BF16.
pub struct Avx512;

impl Pack for Avx512 {
    #[inline(always)]
    unsafe fn along_rows(values: &[f32], pairs: &mut [u32]) {
        // SAFETY: the caller's.
        unsafe { along_rows(values, pairs) }
    }

    #[inline(always)]
    unsafe fn two_rows(first: &[u32], second: &[u32], pairs: &mut [u32]) {
        // SAFETY: the caller's.
        unsafe { two_rows(first, second, pairs) }
    }
}

#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn along_rows(values: &[f32], pairs: &mut [u32]) {
    for (values, pairs) in values.chunks_exact(16).zip(pairs.chunks_exact_mut(8)) {
        // SAFETY: 16 values, and 8 pairs.
        unsafe {
            let rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(values.as_ptr()));
            pairs.as_mut_ptr().cast::<__m256bh>().write_unaligned(rounded);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn two_rows(first: &[u32], second: &[u32], pairs: &mut [u32]) {
    // SAFETY: 32 numbers of 16 bits. The first half of each row and the second half, in turn.
    let orders = [0, 16].map(|half| unsafe { _mm512_loadu_si512(IN_TURN[half..].as_ptr().cast()) });
    let rows = first.chunks(16).zip(second.chunks(16));
    for ((first, second), pairs) in rows.zip(pairs.chunks_mut(32)) {
        let mask = u16::MAX >> (16 - first.len());
        // SAFETY: the mask has a bit for each of the pairs; twice as many are written.
        unsafe {
            let [first, second] =
                [first, second].map(|row| _mm512_maskz_loadu_epi32(mask, row.as_ptr().cast()));
            let halves = orders.map(|order| _mm512_permutex2var_epi16(first, order, second));
            for (to, half) in pairs.chunks_exact_mut(16).zip(halves) {
                _mm512_storeu_si512(to.as_mut_ptr().cast(), half);
            }
        }
    }
}

/// 0, 32, 1, 33, …: the numbers of two vectors in turn.
static IN_TURN: [[u16; 2]; 32] = {
    let mut order = [[0, 32]; 32];
    let mut i = 0;
    while i < 32 {
        order[i] = [i as u16, 32 + i as u16];
        i += 1;
    }
    order
};

/// # Safety
/// The machine has the instructions, and the operands have the sizes that the product needs.
#[target_feature(enable = "avx512f,avx512bf16")]
pub unsafe fn run(p: &mut Product) {
    let mut from = 0;
    // SAFETY: the caller's.
    unsafe {
        while !p.upper && p.columns - from >= 64 {
            rows::<6, 4>(p, from);
            from += 64;
        }
        while p.columns - from >= 32 {
            rows::<12, 2>(p, from);
            from += 32;
        }
        if p.columns > from {
            rows::<12, 1>(p, from);
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn rows<const H: usize, const W: usize>(p: &mut Product, from: usize) {
    let end = if p.upper {
        p.rows.min(from + W * 16)
    } else {
        p.rows
    };
    let mut row = 0;
    // SAFETY: the caller's.
    unsafe {
        while end - row >= H {
            tile::<H, W>(p, row, from);
            row += H;
        }
        while end - row >= 6 {
            tile::<6, W>(p, row, from);
            row += 6;
        }
        match end - row {
            5 => tile::<5, W>(p, row, from),
            4 => tile::<4, W>(p, row, from),
            3 => tile::<3, W>(p, row, from),
            2 => tile::<2, W>(p, row, from),
            1 => tile::<1, W>(p, row, from),
            _ => (),
        }
    }
}

/// The register tile: H rows × W vectors of a·b.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn tile<const H: usize, const W: usize>(p: &mut Product, row: usize, from: usize) {
    // SAFETY: the caller's.
    unsafe {
        let a = p.a.pairs.as_ptr().add(row * p.a.row_step);
        let b = p.b.as_ptr().add(from);
        let mut sums = [[_mm512_setzero_ps(); W]; H];
        for k in 0..p.depth {
            let (a, b) = (a.add(k * p.a.pair_step), b.add(k * p.columns));
            let mut line = [_mm512_setzero_si512(); W];
            for (j, v) in line.iter_mut().enumerate() {
                *v = _mm512_loadu_si512(b.add(16 * j).cast());
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let v = _mm512_set1_epi32(*a.add(i * p.a.row_step) as i32);
                for (sum, &b) in sums.iter_mut().zip(&line) {
                    *sum = _mm512_dpbf16_ps(*sum, as_pairs(v), as_pairs(b));
                }
            }
        }
        let c = p.c.as_mut_ptr().add(row * p.columns + from);
        for (i, line) in sums.iter().enumerate() {
            for (j, &sum) in line.iter().enumerate() {
                let at = c.add(i * p.columns + 16 * j);
                let value = if p.add {
                    _mm512_add_ps(_mm512_loadu_ps(at), sum)
                } else {
                    sum
                };
                _mm512_storeu_ps(at, value);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
fn as_pairs(v: __m512i) -> __m512bh {
    // SAFETY: both types are 512 bits without an invalid value.
    unsafe { std::mem::transmute(v) }
}

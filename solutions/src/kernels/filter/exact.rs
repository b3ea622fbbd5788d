//! The f32 products of pairs of a row and a column, 16 at a time. Each sum adds in the order of the depth, as the register
//! tile does, so its bits are the same.

use pulp::{Simd, WithSimd};

use crate::kernels::tile::dispatch;

/// Without special instructions.
///
/// # Safety
/// From each address, `depth` values can be read.
pub unsafe fn portable(depth: usize, rows: &[*const f32; 16], columns: &[*const f32; 16]) -> [f32; 16] {
    dispatch(Pairs { depth, rows, columns })
}

struct Pairs<'a> {
    depth: usize,
    rows: &'a [*const f32; 16],
    columns: &'a [*const f32; 16],
}

impl WithSimd for Pairs<'_> {
    type Output = [f32; 16];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f32; 16] {
        let mut sums = [0.0_f32; 16];
        for k in 0..self.depth {
            // SAFETY: `portable`'s caller vouches for `depth` values.
            let value = |of: &*const f32| unsafe { *of.add(k) };
            let (a, b) = (
                self.rows.each_ref().map(value),
                self.columns.each_ref().map(value),
            );
            for i in (0..16).step_by(S::F32_LANES) {
                // SAFETY: a vector has at most 16 lanes, and their number divides 16.
                unsafe {
                    let at = |v: &[f32; 16]| v.as_ptr().add(i).cast::<S::f32s>().read_unaligned();
                    let sum = simd.mul_add_e_f32s(at(&a), at(&b), at(&sums));
                    sums.as_mut_ptr().add(i).cast::<S::f32s>().write_unaligned(sum);
                }
            }
        }
        sums
    }
}

/// With AVX-512: four values of each operand at a time are transposed in registers, so that the pairs become the lanes. The
/// N sums do not wait for each other.
///
/// # Safety
/// As for `Multiply::exact`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn avx512<const N: usize>(
    depth: usize,
    rows: &[[*const f32; 16]; N],
    columns: &[[*const f32; 16]; N],
) -> [[f32; 16]; N] {
    use std::arch::x86_64::*;

    let mut sums = [_mm512_setzero_ps(); N];
    for from in (0..depth).step_by(4) {
        for (n, sum) in sums.iter_mut().enumerate() {
            // SAFETY: four values can be read from here.
            let (a, b) = unsafe { (transposed(&rows[n], from), transposed(&columns[n], from)) };
            for k in 0..4.min(depth - from) {
                *sum = _mm512_fmadd_ps(a[k], b[k], *sum);
            }
        }
    }
    stored(sums)
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn stored<const N: usize>(sums: [std::arch::x86_64::__m512; N]) -> [[f32; 16]; N] {
    let mut out = [[0.0; 16]; N];
    for (out, sum) in out.iter_mut().zip(sums) {
        // SAFETY: 16 values.
        unsafe { std::arch::x86_64::_mm512_storeu_ps(out.as_mut_ptr(), sum) };
    }
    out
}

/// Transposes a block of 16 rows to `[depth, 16]`.
///
/// # Safety
/// From each address, `depth` values, rounded up to a multiple of 16, can be read.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn transpose(depth: usize, rows: &[*const f32; 16], out: &mut Vec<f32>) {
    out.resize(depth.next_multiple_of(16) * 16, 0.0);
    for (i, out) in out.chunks_exact_mut(64).enumerate() {
        // SAFETY: the caller's; four values for each of 16 rows.
        unsafe {
            for (k, line) in transposed(rows, 4 * i).into_iter().enumerate() {
                std::arch::x86_64::_mm512_storeu_ps(out.as_mut_ptr().add(16 * k), line);
            }
        }
    }
}

/// As [`avx512`], for rows of one block that is transposed already: `rows` are their numbers in it.
///
/// # Safety
/// `block` is `[depth, 16]`, and columns as for [`avx512`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn in_block<const N: usize>(
    depth: usize,
    block: &[f32],
    rows: &[[u32; 16]; N],
    columns: &[[*const f32; 16]; N],
) -> [[f32; 16]; N] {
    use std::arch::x86_64::*;

    let mut sums = [_mm512_setzero_ps(); N];
    // SAFETY: 16 values each.
    let rows = rows
        .each_ref()
        .map(|rows| unsafe { _mm512_loadu_si512(rows.as_ptr().cast()) });
    for from in (0..depth).step_by(4) {
        for (n, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the caller's; a line of the block has 16 values.
            unsafe {
                let b = transposed(&columns[n], from);
                for k in 0..4.min(depth - from) {
                    let a = _mm512_loadu_ps(block.as_ptr().add((from + k) * 16));
                    *sum = _mm512_fmadd_ps(_mm512_permutexvar_ps(rows[n], a), b[k], *sum);
                }
            }
        }
    }
    stored(sums)
}

/// Vector k holds value `from + k` of each of the 16 addresses.
///
/// # Safety
/// From each address, `from + 4` values can be read.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn transposed(of: &[*const f32; 16], from: usize) -> [std::arch::x86_64::__m512; 4] {
    use std::arch::x86_64::*;

    // Lane group l of `lines[i]` has four values of address 4·l + i.
    let lines: [__m512; 4] = std::array::from_fn(|i| {
        // SAFETY: the caller's.
        unsafe {
            let four = |l: usize| _mm_loadu_ps(of[4 * l + i].add(from));
            let low = _mm512_castps128_ps512(four(0));
            let low = _mm512_insertf32x4::<1>(low, four(1));
            let low = _mm512_insertf32x4::<2>(low, four(2));
            _mm512_insertf32x4::<3>(low, four(3))
        }
    });
    let pairs = |a, b| (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    let (a, b) = pairs(lines[0], lines[1]);
    let (c, d) = pairs(lines[2], lines[3]);
    let low = |a, b| _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
    let high = |a, b| _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
    [low(a, c), high(a, c), low(b, d), high(b, d)]
}

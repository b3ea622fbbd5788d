//! The products of the 8-bit operands. All forms compute the same integers.

use super::{Filter, HEIGHT};
use crate::kernels::maxima::PANEL;

/// For each block of rows `[depth / 4, HEIGHT, 4]` and each column of a panel `[depth / 4, PANEL, 4]`, the greatest product
/// over the block's rows.
pub fn maxima(filter: Filter, rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
    assert!(filter.is_available() && maxima.len().is_multiple_of(PANEL));
    assert!(rows.len() * PANEL * PANEL == maxima.len() * HEIGHT * panel.len());
    match filter {
        // SAFETY: the machine has the filter's instructions, and the sizes fit.
        #[cfg(target_arch = "x86_64")]
        Filter::Vnni => unsafe { x86::avx512_vnni(rows, panel, maxima) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Filter::AvxVnni => unsafe { x86::avx_vnni(rows, panel, maxima) },
        _ => portable(rows, panel, maxima),
    }
}

/// Without special instructions; the specification.
pub fn portable(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
    let blocks = rows.chunks_exact(HEIGHT * (panel.len() / PANEL));
    for (block, maxima) in blocks.zip(maxima.chunks_exact_mut(PANEL)) {
        let mut sums = [[0; PANEL]; HEIGHT];
        for (rows, columns) in block.chunks_exact(4 * HEIGHT).zip(panel.chunks_exact(4 * PANEL)) {
            for (row, sums) in rows.chunks_exact(4).zip(&mut sums) {
                for (column, sum) in columns.chunks_exact(4).zip(sums) {
                    let products = row.iter().zip(column).map(|(&q, &p)| i32::from(q) * i32::from(p));
                    *sum += products.sum::<i32>();
                }
            }
        }
        for (c, top) in maxima.iter_mut().enumerate() {
            *top = sums.iter().fold(i32::MIN, |top, sums| top.max(sums[c]));
        }
    }
}

/// `vpdpbusd`, which multiplies unsigned with signed bytes: of AVX512-VNNI with 512 bits, of AVX-VNNI with 256 bits.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm256_dpbusd_avx_epi32, _mm512_dpbusd_epi32};

    use pulp::x86::{V3, V4};
    use pulp::{Simd, cast, i32x8, i32x16};

    use super::{HEIGHT, PANEL};
    use crate::kernels::tile::{Word, sums};

    /// Four numbers of 8 bits: unsigned in a row, signed in a column.
    type Four = [u8; 4];

    /// The greatest products, in register tiles of HIGH rows × WIDE vectors of columns.
    ///
    /// # Safety
    /// The machine has the instructions of `S`, and `maxima` has [`PANEL`] entries for each block.
    #[inline(always)]
    unsafe fn tiled<S: Simd, const HIGH: usize, const WIDE: usize>(
        simd: S,
        rows: &[u8],
        panel: &[i8],
        maxima: &mut [i32],
    ) where
        Four: Word<S, Sums = S::i32s>,
    {
        let (rows, _) = rows.as_chunks::<4>();
        let (panel, _) = bytemuck::cast_slice::<i8, u8>(panel).as_chunks::<4>();
        let depth = panel.len() / PANEL;
        let blocks = rows.chunks_exact(HEIGHT * depth);
        for (block, maxima) in blocks.zip(maxima.chunks_exact_mut(PANEL)) {
            for from in (0..PANEL).step_by(WIDE * S::I32_LANES) {
                let mut top = [simd.splat_i32s(i32::MIN); WIDE];
                for first in (0..HEIGHT).step_by(HIGH) {
                    // SAFETY: HIGH divides HEIGHT, and WIDE · LANES divides PANEL.
                    let sums = unsafe {
                        let rows = block.as_ptr().add(first);
                        let word = |r, k| *rows.add(k * HEIGHT).add(r);
                        sums::<S, Four, HIGH, WIDE>(simd, depth, word, panel.as_ptr().add(from), PANEL)
                    };
                    for sums in sums {
                        for (top, sum) in top.iter_mut().zip(sums) {
                            *top = simd.max_i32s(*top, sum);
                        }
                    }
                }
                for (j, top) in top.into_iter().enumerate() {
                    let at = maxima[from + j * S::I32_LANES..].as_mut_ptr();
                    // SAFETY: as above.
                    unsafe { at.cast::<S::i32s>().write_unaligned(top) };
                }
            }
        }
    }

    /// # Safety
    /// The machine has the instructions, and `maxima` has [`PANEL`] entries for each block.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni")]
    pub unsafe fn avx512_vnni(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
        // SAFETY: the caller's.
        unsafe { tiled::<_, 8, 2>(V4::new_unchecked(), rows, panel, maxima) }
    }

    impl Word<V4> for Four {
        type Words = i32x16;
        type Sums = i32x16;

        #[inline(always)]
        fn splat(self, simd: V4) -> i32x16 {
            simd.splat_i32x16(bytemuck::cast(self))
        }

        #[inline(always)]
        fn multiply_add(_: V4, a: i32x16, b: i32x16, sum: i32x16) -> i32x16 {
            // SAFETY: `avx512_vnni` enables the instruction.
            unsafe { cast(_mm512_dpbusd_epi32(cast(sum), cast(a), cast(b))) }
        }
    }

    /// # Safety
    /// As above.
    #[target_feature(enable = "avx2,fma,avxvnni")]
    pub unsafe fn avx_vnni(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
        // SAFETY: the caller's.
        unsafe { tiled::<_, 4, 2>(V3::new_unchecked(), rows, panel, maxima) }
    }

    impl Word<V3> for Four {
        type Words = i32x8;
        type Sums = i32x8;

        #[inline(always)]
        fn splat(self, simd: V3) -> i32x8 {
            simd.splat_i32x8(bytemuck::cast(self))
        }

        #[inline(always)]
        fn multiply_add(_: V3, a: i32x8, b: i32x8, sum: i32x8) -> i32x8 {
            // SAFETY: `avx_vnni` enables the instruction.
            unsafe { cast(_mm256_dpbusd_avx_epi32(cast(sum), cast(a), cast(b))) }
        }
    }
}

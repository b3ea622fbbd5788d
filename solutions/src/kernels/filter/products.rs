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

/// `vpdpbusd` of AVX512-VNNI, which multiplies unsigned with signed bytes.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::_mm512_dpbusd_epi32;

    use pulp::x86::V4;
    use pulp::{Simd, cast, i32x16};

    use super::{HEIGHT, PANEL};
    use crate::kernels::tile::{Word, sums};

    /// Four numbers of 8 bits: unsigned in a row, signed in a column.
    type Four = [u8; 4];

    /// # Safety
    /// The machine has the instructions, and `maxima` has [`PANEL`] entries for each block.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni")]
    pub unsafe fn avx512_vnni(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
        // SAFETY: the caller's.
        let simd = unsafe { V4::new_unchecked() };
        let (rows, _) = rows.as_chunks::<4>();
        let (panel, _) = bytemuck::cast_slice::<i8, u8>(panel).as_chunks::<4>();
        let depth = panel.len() / PANEL;
        let blocks = rows.chunks_exact(HEIGHT * depth);
        for (block, maxima) in blocks.zip(maxima.chunks_exact_mut(PANEL)) {
            // SAFETY: a block is `[depth, HEIGHT]`, and the panel, two vectors wide, `[depth, PANEL]`.
            let [mut top, rest @ ..] = unsafe {
                let word = |r, k| *block.as_ptr().add(k * HEIGHT).add(r);
                sums::<V4, Four, HEIGHT, 2>(simd, depth, word, panel.as_ptr(), PANEL)
            };
            for sums in rest {
                top = std::array::from_fn(|j| simd.max_i32s(top[j], sums[j]));
            }
            maxima.copy_from_slice(bytemuck::cast_slice(&top));
        }
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
}

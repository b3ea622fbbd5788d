//! The products of the 8-bit operands by `vpdpbusd`, which multiplies unsigned with signed bytes: of AVX512-VNNI with 512
//! bits, of AVX-VNNI with 256 bits.

use std::arch::x86_64::*;

use super::tiled::{Vector, tiled};

/// 16 sums.
#[derive(Clone, Copy)]
struct Zmm(__m512i);

/// 8 sums. AVX-VNNI and AVX512-VNNI encode the instruction differently (VEX and EVEX); its result is the same.
#[derive(Clone, Copy)]
struct Ymm<const EVEX: bool>(__m256i);

/// # Safety
/// The machine has the instructions, and `maxima` has an entry for each block and column.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub unsafe fn avx512_vnni(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
    // SAFETY: the caller's.
    unsafe { tiled::<Zmm, 8, 2>(rows, panel, maxima) }
}

/// # Safety
/// As above. A machine without AVX-VNNI has AVX512-VNNI and AVX512-VL.
pub unsafe fn avx_vnni(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
    #[target_feature(enable = "avx2,avxvnni")]
    unsafe fn vex(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
        // SAFETY: the caller's.
        unsafe { tiled::<Ymm<false>, 4, 2>(rows, panel, maxima) }
    }
    #[target_feature(enable = "avx512vnni,avx512vl")]
    unsafe fn evex(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
        // SAFETY: the caller's.
        unsafe { tiled::<Ymm<true>, 4, 2>(rows, panel, maxima) }
    }
    // SAFETY: the caller's.
    unsafe {
        if is_x86_feature_detected!("avxvnni") {
            vex(rows, panel, maxima);
        } else {
            evex(rows, panel, maxima);
        }
    }
}

// SAFETY, of all functions: as `Vector` says.
impl Vector for Zmm {
    const LANES: usize = 16;
    const OFFSET: i32 = 0;

    #[inline(always)]
    fn splat(value: i32) -> Self {
        Self(unsafe { _mm512_set1_epi32(value) })
    }

    #[inline(always)]
    unsafe fn load<T>(from: *const T) -> Self {
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn steps(from: *const u8) -> Self {
        Self::splat(unsafe { from.cast::<i32>().read_unaligned() })
    }

    #[inline(always)]
    fn dot(self, steps: Self, columns: Self) -> Self {
        Self(unsafe { _mm512_dpbusd_epi32(self.0, steps.0, columns.0) })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(unsafe { _mm512_max_epi32(self.0, other.0) })
    }
}

impl<const EVEX: bool> Vector for Ymm<EVEX> {
    const LANES: usize = 8;
    const OFFSET: i32 = 0;

    #[inline(always)]
    fn splat(value: i32) -> Self {
        Self(unsafe { _mm256_set1_epi32(value) })
    }

    #[inline(always)]
    unsafe fn load<T>(from: *const T) -> Self {
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn steps(from: *const u8) -> Self {
        Self::splat(unsafe { from.cast::<i32>().read_unaligned() })
    }

    #[inline(always)]
    fn dot(self, steps: Self, columns: Self) -> Self {
        Self(unsafe {
            if EVEX {
                _mm256_dpbusd_epi32(self.0, steps.0, columns.0)
            } else {
                _mm256_dpbusd_avx_epi32(self.0, steps.0, columns.0)
            }
        })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(unsafe { _mm256_max_epi32(self.0, other.0) })
    }
}

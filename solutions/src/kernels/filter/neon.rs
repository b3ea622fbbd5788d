//! The products of the 8-bit operands by `sdot` of ARM, which multiplies signed bytes: the steps of the rows minus 128 are
//! signed. `usdot` multiplies unsigned with signed bytes, but not every machine with `sdot` has it.

use std::arch::aarch64::*;
use std::arch::asm;

use super::tiled::{Vector, tiled};

/// 4 sums.
#[derive(Clone, Copy)]
struct Quad(int32x4_t);

/// # Safety
/// The machine has the instructions, and `maxima` has an entry for each block and column.
#[target_feature(enable = "neon,dotprod")]
pub unsafe fn dot_products(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
    // SAFETY: the caller's.
    unsafe { tiled::<Quad, 2, 8>(rows, panel, maxima) }
}

// SAFETY, of all functions: as `Vector` says.
impl Vector for Quad {
    const LANES: usize = 4;
    const OFFSET: i32 = 128;

    #[inline(always)]
    fn splat(value: i32) -> Self {
        Self(unsafe { vdupq_n_s32(value) })
    }

    #[inline(always)]
    unsafe fn load<T>(from: *const T) -> Self {
        Self(unsafe { vreinterpretq_s32_s8(vld1q_s8(from.cast())) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        unsafe { vst1q_s32(to, self.0) }
    }

    #[inline(always)]
    unsafe fn steps(from: *const u8) -> Self {
        let four = unsafe { vdupq_n_s32(from.cast::<i32>().read_unaligned()) };
        // The highest bit of each byte: q − 128 as a signed byte.
        Self(unsafe { veorq_s32(four, vdupq_n_s32(i32::from_ne_bytes([0x80; 4]))) })
    }

    /// In assembly, because `vdotq_s32` is not stable in Rust.
    #[inline(always)]
    fn dot(self, steps: Self, columns: Self) -> Self {
        let mut sum = self.0;
        unsafe {
            asm!(
                ".arch_extension dotprod",
                "sdot {sum:v}.4s, {q:v}.16b, {p:v}.16b",
                sum = inout(vreg) sum,
                q = in(vreg) steps.0,
                p = in(vreg) columns.0,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        Self(sum)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(unsafe { vmaxq_s32(self.0, other.0) })
    }
}

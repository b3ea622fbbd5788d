//! The products of bf16 numbers by `vdpbf16ps` of AVX512-BF16.

use std::arch::x86_64::{__m512, __m512bh, _mm512_dpbf16_ps};
use std::mem::transmute;

use pulp::{f32x16, u32x16, x86::V4};

use super::pairs::Pair;
use crate::kernels::tile::{Product, Word};

/// # Safety
/// The machine has the instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512bf16")]
pub unsafe fn run(product: Product<Pair>) {
    // SAFETY: the caller's.
    unsafe { product.compute(V4::new_unchecked()) }
}

impl Word<V4> for Pair {
    type Words = u32x16;
    type Sums = f32x16;

    #[inline(always)]
    fn splat(self, simd: V4) -> u32x16 {
        simd.splat_u32x16(bytemuck::cast(self))
    }

    #[inline(always)]
    fn multiply_add(_: V4, a: u32x16, b: u32x16, sum: f32x16) -> f32x16 {
        // SAFETY: `run` enables the instruction; the types are 512 bits without an invalid value.
        unsafe {
            let sum = transmute::<f32x16, __m512>(sum);
            let [a, b] = [a, b].map(|pairs| transmute::<u32x16, __m512bh>(pairs));
            transmute::<__m512, f32x16>(_mm512_dpbf16_ps(sum, a, b))
        }
    }
}

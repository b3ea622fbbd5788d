//! 16-bit floats, bits and atomics have CUDA's values.

use grid::{Arg, Memory, Source};
use half::{bf16, f16};

use crate::compiled;

#[test]
fn conversions_are_those_of_the_half_crate() {
    let text = r#"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void convert(const float* x, __nv_bfloat16* b, __half* h, float* of_b, float* of_h, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        b[i] = __float2bfloat16(x[i]);
        h[i] = __float2half(x[i]);
        of_b[i] = __bfloat162float(b[i]);
        of_h[i] = __half2float(h[i]);
    }
}"#;
    let Some(module) = compiled(&Source::text("convert.cu", text)) else {
        return;
    };
    // Every half, every bfloat16, what lies between two of them, and any bits.
    let mut random = fastrand::Rng::with_seed(1);
    let mut x: Vec<f32> = Vec::new();
    for bits in 0..=u16::MAX {
        let half = f16::from_bits(bits).to_f32();
        let next = f16::from_bits(bits.wrapping_add(1)).to_f32();
        x.extend([
            half,
            (half + next) / 2.0,
            f32::from_bits((u32::from(bits) << 16) | 0x8000),
            f32::from_bits(random.u32(..)),
        ]);
    }
    let mut memory = Memory::new();
    let n = x.len();
    let input = memory.upload(&x);
    let (b, h) = (memory.zeros::<bf16>(n), memory.zeros::<f16>(n));
    let (of_b, of_h) = (memory.zeros::<f32>(n), memory.zeros::<f32>(n));
    let outputs = [Arg::write(b), Arg::write(h), Arg::write(of_b), Arg::write(of_h)];
    let arguments = [&[Arg::read(input)], &outputs[..], &[Arg::value(n as i32)]].concat();
    module
        .launch("convert", 16, 256, 0, &mut memory, &arguments)
        .unwrap();
    let (of_b, of_h) = (memory.download(of_b), memory.download(of_h));
    for (i, &v) in x.iter().enumerate() {
        let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let (expected_b, expected_h) = (bf16::from_f32(v).to_f32(), f16::from_f32(v).to_f32());
        assert!(
            same(of_b[i], expected_b),
            "{v:e} to bfloat16 is {:e}, not {expected_b:e}",
            of_b[i]
        );
        assert!(
            same(of_h[i], expected_h),
            "{v:e} to half is {:e}, not {expected_h:e}",
            of_h[i]
        );
    }
}

#[test]
fn functions_have_their_documented_values() {
    // Each line is true, by the CUDA documentation.
    let facts = [
        "__popc(0xF0F0u) == 8 && __popcll(1ull << 40) == 1",
        "__clz(1) == 31 && __clz(0) == 32 && __ffs(0) == 0 && __ffs(8) == 4",
        "__brev(1u) == 0x80000000u",
        "__umulhi(0xffffffffu, 0xffffffffu) == 0xfffffffeu && __mulhi(-1, 2) == -1",
        "__float_as_uint(1.0f) == 0x3f800000u && __int_as_float(0x40000000) == 2.0f",
        "__float2int_rn(2.5f) == 2 && __float2int_rz(-2.9f) == -2 && __float2int_rz(1e20f) == 2147483647",
        "__float2int_rn(__int_as_float(0x7fffffff)) == 0 && __float2int_rd(-0.5f) == -1 && __float2int_ru(0.5f) == 1",
        "__funnelshift_l(0x80000000u, 1u, 1) == 3u && __funnelshift_r(0u, 1u, 1) == 0x80000000u",
        "fmaxf(__int_as_float(0x7fffffff), 1.0f) == 1.0f && max(1, 2u) == 2u && min(-1.0f, 2.0f) == -1.0f",
        "__saturatef(2.0f) == 1.0f && __saturatef(__int_as_float(0x7fffffff)) == 0.0f && rsqrtf(4.0f) == 0.5f",
        "sizeof(float4) == 16 && alignof(float4) == 16 && sizeof(float3) == 12 && alignof(int2) == 8 && warpSize == 32",
        "__shfl_sync(0xffffffffu, (int)threadIdx.x, 3) == 3 && __shfl_sync(0xffffffffu, (int)threadIdx.x, 1, 8) == (int)threadIdx.x / 8 * 8 + 1",
        "__shfl_up_sync(0xffffffffu, (int)threadIdx.x, 1) == max((int)threadIdx.x - 1, 0)",
        "__shfl_xor_sync(0xffffffffu, (double)threadIdx.x, 1) == (double)(threadIdx.x ^ 1)",
        "__ballot_sync(0xffffffffu, threadIdx.x < 4) == 15u && __all_sync(0xffffffffu, 1) && !__any_sync(0xffffffffu, 0)",
        "__reduce_add_sync(0xffffffffu, 1u) == 32u && __reduce_min_sync(0xffffffffu, -(int)threadIdx.x) == -31",
        "__match_any_sync(0xffffffffu, threadIdx.x % 16) == (0x10001u << threadIdx.x % 16)",
        "__syncthreads_count(threadIdx.x < 5) == 5 && __syncthreads_or(threadIdx.x == 7) && !__syncthreads_and(threadIdx.x == 7)",
        "sum == 32u && highest == 31 && first < 32u",
    ];
    let lines: String = facts
        .iter()
        .enumerate()
        .map(|(i, fact)| format!("    if (!({fact})) wrong[{i}] = 1;\n"))
        .collect();
    let text = format!(
        "extern \"C\" __global__ void facts(int* all) {{\n\
         __shared__ unsigned sum, first; __shared__ int highest;\n\
         if (threadIdx.x == 0) sum = 0, first = 99, highest = -1;\n__syncthreads();\n\
         atomicAdd(&sum, 1u); atomicMax(&highest, (int)threadIdx.x); atomicCAS(&first, 99u, threadIdx.x);\n__syncthreads();\n\
         int* wrong = all + {} * threadIdx.x;\n{lines}}}\n",
        facts.len()
    );
    let Some(module) = compiled(&Source::text("facts.cu", text)) else {
        return;
    };
    let mut memory = Memory::new();
    let wrong = memory.zeros::<i32>(32 * facts.len());
    module
        .launch("facts", 1, 32, 0, &mut memory, &[Arg::write(wrong)])
        .unwrap();
    for (i, wrong) in memory.download(wrong).into_iter().enumerate() {
        assert_eq!(wrong, 0, "thread {}: {}", i / facts.len(), facts[i % facts.len()]);
    }
}

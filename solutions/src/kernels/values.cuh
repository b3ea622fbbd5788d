// What the kernels share: numbers of each type read and written as float, and sums over a warp and a block.
//
// A kernel is a template over the type T of its tensors. EACH_TYPE declares its three forms: NAME_f32, NAME_bf16, NAME_f16.
// All arithmetic is in float; sums over many values end in double. No sum depends on the order in which blocks run.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef INFINITY // NVRTC compiles without a C library.
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif

#define WARP 32
#define ALL_LANES 0xffffffffu

typedef __nv_bfloat16 bf16;
typedef __half f16;

__device__ inline float as_float(float v) { return v; }
__device__ inline float as_float(bf16 v) { return __bfloat162float(v); }
__device__ inline float as_float(f16 v) { return __half2float(v); }

template <typename T> struct Rounded;
template <> struct Rounded<float> {
    static __device__ inline float of(float v) { return v; }
};
template <> struct Rounded<bf16> {
    static __device__ inline bf16 of(float v) { return __float2bfloat16(v); }
};
template <> struct Rounded<f16> {
    static __device__ inline f16 of(float v) { return __float2half(v); }
};

// The first element of this thread and the stride to its next, for a loop over n elements.
__device__ inline long long first_element() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline long long element_stride() { return (long long)gridDim.x * blockDim.x; }

// The sum over the warp, in every lane.
template <typename S> __device__ inline S warp_sum(S v) {
    for (int step = WARP / 2; step > 0; step /= 2) {
        v += __shfl_xor_sync(ALL_LANES, v, step);
    }
    return v;
}

__device__ inline float warp_max(float v) {
    for (int step = WARP / 2; step > 0; step /= 2) {
        v = fmaxf(v, __shfl_xor_sync(ALL_LANES, v, step));
    }
    return v;
}

// The sum over a block of whole warps, in every thread. `scratch` is shared memory of WARP values.
template <typename S> __device__ inline S block_sum(S v, S* scratch) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    v = warp_sum(v);
    __syncthreads(); // The scratch may hold an earlier sum that a warp still reads.
    if (lane == 0) scratch[warp] = v;
    __syncthreads();
    return warp_sum(lane < (int)(blockDim.x / WARP) ? scratch[lane] : S(0));
}

// Whether `v` replaces `best` as a maximum: NaN is the greatest value, and of equals the first stays.
__device__ inline bool exceeds(float v, float best) { return !(v <= best) && best == best; }

// KERNEL(TYPE, SUFFIX) declares one form of a kernel.
#define EACH_TYPE(KERNEL) KERNEL(float, f32) KERNEL(bf16, bf16) KERNEL(f16, f16)

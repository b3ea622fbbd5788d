// The words of CUDA C++ that need no runtime: qualifiers, vector types, built-in variables.
// `__global__`, `__shared__` and `__launch_bounds__` are rewritten by `src/source.rs`.
#pragma once
#include "runtime.h"

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 800
#endif
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))

#define threadIdx (grid_thread_index())
#define blockIdx (grid_block_index())
#define blockDim (grid_block_size())
#define gridDim (grid_grid_size())
constexpr int warpSize = 32;

typedef unsigned long size_t;

#define GRID_VECTORS(T, NAME, ALIGN2, ALIGN4)                                                                          \
    struct NAME##1 { T x; };                                                                                           \
    struct __align__(ALIGN2) NAME##2 { T x, y; };                                                                      \
    struct NAME##4;                                                                                                    \
    struct __align__(ALIGN4) NAME##4 { T x, y, z, w; };                                                                \
    inline NAME##1 make_##NAME##1(T x) { return {x}; }                                                                 \
    inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                                         \
    inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define GRID_VECTOR3(T, NAME)                                                                                          \
    struct NAME##3 { T x, y, z; };                                                                                     \
    inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }
GRID_VECTORS(signed char, char, 2, 4)
GRID_VECTORS(unsigned char, uchar, 2, 4)
GRID_VECTORS(short, short, 4, 8)
GRID_VECTORS(unsigned short, ushort, 4, 8)
GRID_VECTORS(int, int, 8, 16)
GRID_VECTORS(unsigned, uint, 8, 16)
GRID_VECTORS(float, float, 8, 16)
GRID_VECTORS(double, double, 16, 16)
GRID_VECTORS(long long, longlong, 16, 16)
GRID_VECTORS(unsigned long long, ulonglong, 16, 16)
GRID_VECTOR3(signed char, char)
GRID_VECTOR3(unsigned char, uchar)
GRID_VECTOR3(short, short)
GRID_VECTOR3(unsigned short, ushort)
GRID_VECTOR3(int, int)
GRID_VECTOR3(float, float)
GRID_VECTOR3(double, double)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
#undef GRID_VECTORS
#undef GRID_VECTOR3

// Converts to the pointer that `extern __shared__ T name[];` declares.
struct GridDynamic {
    template <class T> operator T*() const { return (T*)grid_dynamic(); }
};

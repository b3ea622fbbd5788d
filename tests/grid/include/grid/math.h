// Functions of one thread: mathematics, bits and conversions. The fast forms (`__expf`) are as exact as the others here.
#pragma once
#include "warp.h"

#define GRID_UNARY(NAME)                                                                                               \
    extern "C" double NAME(double);                                                                                    \
    extern "C" float NAME##f(float);                                                                                   \
    inline float NAME(float x) { return NAME##f(x); }
#define GRID_BINARY(NAME)                                                                                              \
    extern "C" double NAME(double, double);                                                                            \
    extern "C" float NAME##f(float, float);                                                                            \
    inline float NAME(float x, float y) { return NAME##f(x, y); }
GRID_UNARY(acos) GRID_UNARY(asin) GRID_UNARY(atan) GRID_UNARY(cbrt) GRID_UNARY(ceil) GRID_UNARY(cos) GRID_UNARY(cosh)
GRID_UNARY(erf) GRID_UNARY(erfc) GRID_UNARY(exp) GRID_UNARY(exp2) GRID_UNARY(expm1) GRID_UNARY(fabs) GRID_UNARY(floor)
GRID_UNARY(lgamma) GRID_UNARY(log) GRID_UNARY(log10) GRID_UNARY(log1p) GRID_UNARY(log2) GRID_UNARY(nearbyint)
GRID_UNARY(rint) GRID_UNARY(round) GRID_UNARY(sin) GRID_UNARY(sinh) GRID_UNARY(sqrt) GRID_UNARY(tan) GRID_UNARY(tanh)
GRID_UNARY(trunc)
GRID_BINARY(atan2) GRID_BINARY(copysign) GRID_BINARY(fmax) GRID_BINARY(fmin) GRID_BINARY(fmod) GRID_BINARY(hypot)
GRID_BINARY(pow)
#undef GRID_UNARY
#undef GRID_BINARY
extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
extern "C" double ldexp(double, int);
extern "C" float ldexpf(float, int);
extern "C" int abs(int);
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float exp10f(float x) { return powf(10.0f, x); }
inline float fdividef(float x, float y) { return x / y; }
inline void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline bool isnan(float x) { return x != x; }
inline bool isnan(double x) { return x != x; }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }

// As CUDA's: of two integers of different types the unsigned or the wider decides.
#define GRID_MINMAX(A, B, R)                                                                                           \
    inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }                                                       \
    inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
GRID_MINMAX(int, int, int)
GRID_MINMAX(unsigned, unsigned, unsigned)
GRID_MINMAX(int, unsigned, unsigned)
GRID_MINMAX(unsigned, int, unsigned)
GRID_MINMAX(long, long, long)
GRID_MINMAX(unsigned long, unsigned long, unsigned long)
GRID_MINMAX(long long, long long, long long)
GRID_MINMAX(unsigned long long, unsigned long long, unsigned long long)
#undef GRID_MINMAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

inline int __float_as_int(float x) { return grid::from_bits<int>(grid::bits(x)); }
inline unsigned __float_as_uint(float x) { return grid::from_bits<unsigned>(grid::bits(x)); }
inline float __int_as_float(int x) { return grid::from_bits<float>((unsigned)x); }
inline float __uint_as_float(unsigned x) { return grid::from_bits<float>(x); }
inline long long __double_as_longlong(double x) { return (long long)grid::bits(x); }
inline double __longlong_as_double(long long x) { return grid::from_bits<double>((unsigned long long)x); }

// As the GPU does: NaN becomes 0, and what is out of range the nearest integer.
inline int __double2int_rz(double x) {
    return x != x ? 0 : x >= 2147483647.0 ? 2147483647 : x <= -2147483648.0 ? -2147483647 - 1 : (int)x;
}
inline unsigned __double2uint_rz(double x) { return !(x > 0.0) ? 0u : x >= 4294967295.0 ? 4294967295u : (unsigned)x; }
inline int __float2int_rz(float x) { return __double2int_rz(x); }
inline int __float2int_rn(float x) { return __double2int_rz(rint((double)x)); }
inline int __float2int_rd(float x) { return __double2int_rz(floor((double)x)); }
inline int __float2int_ru(float x) { return __double2int_rz(ceil((double)x)); }
inline unsigned __float2uint_rz(float x) { return __double2uint_rz(x); }
inline unsigned __float2uint_rn(float x) { return __double2uint_rz(rint((double)x)); }
inline float __int2float_rn(int x) { return (float)x; }
inline float __uint2float_rn(unsigned x) { return (float)x; }
inline float __double2float_rn(double x) { return (float)x; }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; ++i) r |= (x >> i & 1u) << (31 - i);
    return r;
}
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
    return (unsigned)(((unsigned long long)hi << 32 | lo) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (shift & 31));
}

template <class T> __forceinline__ T __ldg(const T* p) { return *p; }
template <class T> __forceinline__ T __ldcs(const T* p) { return *p; }
template <class T> __forceinline__ T __ldcg(const T* p) { return *p; }
template <class T> __forceinline__ void __stcs(T* p, T v) { *p = v; }
template <class T> __forceinline__ void __stcg(T* p, T v) { *p = v; }
[[noreturn]] inline void __trap() { grid_trap(); }
inline void __nanosleep(unsigned) {}

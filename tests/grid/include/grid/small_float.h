// What `__half` and `__nv_bfloat16` share. Arithmetic is that of float, rounded once: exactly CUDA's for + - * /.
#pragma once
#include "math.h"

// Bits of bfloat16 and half from float, rounded to nearest even, and back.
namespace grid {

inline unsigned short bfloat16_bits(float v) {
    unsigned b = __float_as_uint(v);
    if (v != v) return 0x7fff;
    return (unsigned short)((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
inline float bfloat16_value(unsigned short b) { return __uint_as_float((unsigned)b << 16); }

inline unsigned short half_bits(float v) {
    unsigned b = __float_as_uint(v), sign = b >> 16 & 0x8000u, size = b & 0x7fffffffu;
    if (size > 0x7f800000u) return 0x7fff;
    if (size >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    // Below 2^-14 the step is 2^-24: adding 0.5 leaves exactly these bits.
    if (size < 0x38800000u) return (unsigned short)(sign | (__float_as_uint(__uint_as_float(size) + 0.5f) - 0x3f000000u));
    unsigned even = size >> 13 & 1u;
    return (unsigned short)(sign | ((size - 0x38000000u + 0xfffu + even) >> 13));
}
inline float half_value(unsigned short b) {
    unsigned sign = (unsigned)(b & 0x8000u) << 16, size = b & 0x7fffu;
    if (size >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | size << 13);
    float v = __uint_as_float(size << 13) * __uint_as_float(0x77800000u); // 2^112
    return __uint_as_float(sign | __float_as_uint(v));
}

} // namespace grid

// A 16-bit type NAME with its pair PAIR, over FROM (float to bits) and TO (bits to float).
#define GRID_SMALL_FLOAT(NAME, PAIR, FROM, TO)                                                                         \
    struct NAME##_raw {                                                                                                \
        unsigned short x;                                                                                              \
    };                                                                                                                 \
    struct __align__(2) NAME {                                                                                         \
        unsigned short bits;                                                                                           \
        NAME() = default;                                                                                              \
        NAME(NAME##_raw r) : bits(r.x) {}                                                                              \
        NAME(float v) : bits(grid::FROM(v)) {}                                                                         \
        NAME(double v) : bits(grid::FROM((float)v)) {}                                                                 \
        NAME(int v) : bits(grid::FROM((float)v)) {}                                                                    \
        NAME(unsigned v) : bits(grid::FROM((float)v)) {}                                                               \
        NAME(long long v) : bits(grid::FROM((float)v)) {}                                                              \
        operator float() const { return grid::TO(bits); }                                                              \
        NAME& operator=(float v) { return bits = grid::FROM(v), *this; }                                               \
        NAME& operator+=(NAME o) { return *this = NAME(float(*this) + float(o)); }                                     \
        NAME& operator-=(NAME o) { return *this = NAME(float(*this) - float(o)); }                                     \
        NAME& operator*=(NAME o) { return *this = NAME(float(*this) * float(o)); }                                     \
        NAME& operator/=(NAME o) { return *this = NAME(float(*this) / float(o)); }                                     \
    };                                                                                                                 \
    struct __align__(4) PAIR {                                                                                         \
        NAME x, y;                                                                                                     \
        PAIR() = default;                                                                                              \
        PAIR(NAME x, NAME y) : x(x), y(y) {}                                                                           \
    };                                                                                                                 \
    inline NAME operator+(NAME a, NAME b) { return NAME(float(a) + float(b)); }                                        \
    inline NAME operator-(NAME a, NAME b) { return NAME(float(a) - float(b)); }                                        \
    inline NAME operator*(NAME a, NAME b) { return NAME(float(a) * float(b)); }                                        \
    inline NAME operator/(NAME a, NAME b) { return NAME(float(a) / float(b)); }                                        \
    inline NAME operator-(NAME a) { return NAME(-float(a)); }                                                          \
    inline bool operator==(NAME a, NAME b) { return float(a) == float(b); }                                            \
    inline bool operator!=(NAME a, NAME b) { return float(a) != float(b); }                                            \
    inline bool operator<(NAME a, NAME b) { return float(a) < float(b); }                                              \
    inline bool operator>(NAME a, NAME b) { return float(a) > float(b); }                                              \
    inline bool operator<=(NAME a, NAME b) { return float(a) <= float(b); }                                            \
    inline bool operator>=(NAME a, NAME b) { return float(a) >= float(b); }                                            \
    inline PAIR operator+(PAIR a, PAIR b) { return {a.x + b.x, a.y + b.y}; }                                           \
    inline PAIR operator-(PAIR a, PAIR b) { return {a.x - b.x, a.y - b.y}; }                                           \
    inline PAIR operator*(PAIR a, PAIR b) { return {a.x * b.x, a.y * b.y}; }                                           \
    inline PAIR operator/(PAIR a, PAIR b) { return {a.x / b.x, a.y / b.y}; }                                           \
    inline NAME __hadd(NAME a, NAME b) { return a + b; }                                                               \
    inline NAME __hsub(NAME a, NAME b) { return a - b; }                                                               \
    inline NAME __hmul(NAME a, NAME b) { return a * b; }                                                               \
    inline NAME __hdiv(NAME a, NAME b) { return a / b; }                                                               \
    inline NAME __hfma(NAME a, NAME b, NAME c) { return NAME(fmaf(float(a), float(b), float(c))); }                    \
    inline NAME __hneg(NAME a) { return -a; }                                                                          \
    inline NAME __habs(NAME a) { return NAME(fabsf(float(a))); }                                                       \
    inline NAME __hmax(NAME a, NAME b) { return NAME(fmaxf(float(a), float(b))); }                                     \
    inline NAME __hmin(NAME a, NAME b) { return NAME(fminf(float(a), float(b))); }                                     \
    inline NAME hexp(NAME a) { return NAME(expf(float(a))); }                                                          \
    inline NAME hlog(NAME a) { return NAME(logf(float(a))); }                                                          \
    inline NAME hsqrt(NAME a) { return NAME(sqrtf(float(a))); }                                                        \
    inline NAME hrsqrt(NAME a) { return NAME(rsqrtf(float(a))); }                                                      \
    inline bool __hisnan(NAME a) { return float(a) != float(a); }                                                      \
    inline bool __heq(NAME a, NAME b) { return a == b; }                                                               \
    inline bool __hne(NAME a, NAME b) { return a != b; }                                                               \
    inline bool __hlt(NAME a, NAME b) { return a < b; }                                                                \
    inline bool __hle(NAME a, NAME b) { return a <= b; }                                                               \
    inline bool __hgt(NAME a, NAME b) { return a > b; }                                                                \
    inline bool __hge(NAME a, NAME b) { return a >= b; }                                                               \
    inline PAIR __hadd2(PAIR a, PAIR b) { return a + b; }                                                              \
    inline PAIR __hsub2(PAIR a, PAIR b) { return a - b; }                                                              \
    inline PAIR __hmul2(PAIR a, PAIR b) { return a * b; }                                                              \
    inline PAIR __hfma2(PAIR a, PAIR b, PAIR c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }             \
    inline PAIR __hmax2(PAIR a, PAIR b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                               \
    inline PAIR __hmin2(PAIR a, PAIR b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                               \
    inline float __low2float(PAIR a) { return float(a.x); }                                                            \
    inline float __high2float(PAIR a) { return float(a.y); }

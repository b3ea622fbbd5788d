// `nvcuda::wmma`: a warp's matrix product. Products and sums are in float; of tf32 inputs the mantissa is cut to 10 bits, as
// the hardware does.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

template <class T> struct Stored { using type = T; };
template <> struct Stored<precision::tf32> { using type = float; };

// Rows and columns of a fragment, and whether its type and shape exist.
template <class Use, int M, int N, int K> struct Shape;
template <int M, int N, int K> struct Shape<matrix_a, M, N, K> { static constexpr int rows = M, columns = K; };
template <int M, int N, int K> struct Shape<matrix_b, M, N, K> { static constexpr int rows = K, columns = N; };
template <int M, int N, int K> struct Shape<accumulator, M, N, K> { static constexpr int rows = M, columns = N; };
template <class Use, class T> constexpr bool shape_exists(int m, int n, int k) {
    bool wide = (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32);
    bool tf32 = m == 16 && n == 16 && k == 8;
    if (__is_same(Use, accumulator)) return (wide && k == 16) || (tf32 && __is_same(T, float));
    return __is_same(T, precision::tf32) ? tf32 : wide && k == 16;
}

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    static_assert(shape_exists<Use, T>(M, N, K), "wmma has no fragment of this shape and type");
    using element_type = typename Stored<T>::type;
    static constexpr int rows = Shape<Use, M, N, K>::rows, columns = Shape<Use, M, N, K>::columns;
    static constexpr int num_elements = rows * columns / 32;
    element_type x[num_elements];
    // NaN until it is filled or loaded.
    fragment() {
        for (auto& v : x) v = element_type(__int_as_float(0x7fffffff));
    }
};

// Offset in memory of element `e` of the calling lane.
template <class F> inline size_t offset_of(int e, unsigned ldm, bool by_rows) {
    unsigned i = grid::fragment_index(e, grid_lane()), row = i / F::columns, column = i % F::columns;
    return by_rows ? (size_t)row * ldm + column : (size_t)column * ldm + row;
}

template <class F, class V> inline void fill_fragment(F& f, const V& v) {
    for (auto& x : f.x) x = typename F::element_type(v);
}

template <class Use, int M, int N, int K, class T, class Layout>
__forceinline__ void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f,
                                      const typename fragment<Use, M, N, K, T, Layout>::element_type* from, unsigned ldm,
                                      GRID_HERE) {
    static_assert(!__is_same(Use, accumulator), "loading an accumulator needs a layout: mem_row_major or mem_col_major");
    grid_wmma_access(0, from, ldm, sizeof *from, line, file);
    for (int e = 0; e < f.num_elements; ++e) {
        f.x[e] = from[offset_of<fragment<Use, M, N, K, T, Layout>>(e, ldm, __is_same(Layout, row_major))];
    }
}

template <int M, int N, int K, class T>
__forceinline__ void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const T* from, unsigned ldm, layout_t layout,
                                      GRID_HERE) {
    grid_wmma_access(0, from, ldm, sizeof *from, line, file);
    for (int e = 0; e < f.num_elements; ++e) {
        f.x[e] = from[offset_of<fragment<accumulator, M, N, K, T>>(e, ldm, layout == mem_row_major)];
    }
}

template <int M, int N, int K, class T>
__forceinline__ void store_matrix_sync(T* to, const fragment<accumulator, M, N, K, T>& f, unsigned ldm, layout_t layout,
                                       GRID_HERE) {
    grid_wmma_access(1, to, ldm, sizeof *to, line, file);
    for (int e = 0; e < f.num_elements; ++e) {
        to[offset_of<fragment<accumulator, M, N, K, T>>(e, ldm, layout == mem_row_major)] = f.x[e];
    }
}

inline float __float_to_tf32(float v) {
    // To nearest, ties away from zero, as `cvt.rna.tf32.f32`.
    unsigned b = __float_as_uint(v);
    return v != v || __builtin_isinf(v) ? v : __uint_as_float((b + 0x1000u) & 0xffffe000u);
}

// As the tensor core reads an element.
template <class T> inline float as_read(typename Stored<T>::type v) { return float(v); }
template <> inline float as_read<precision::tf32>(float v) { return __uint_as_float(__float_as_uint(v) & 0xffffe000u); }

template <int M, int N, int K, class T, class A, class B, class C, class D>
__forceinline__ void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, T, A>& a,
                              const fragment<matrix_b, M, N, K, T, B>& b, const fragment<accumulator, M, N, K, C>& c,
                              GRID_HERE) {
    float as[a.num_elements], bs[b.num_elements], cs[c.num_elements];
    for (int e = 0; e < a.num_elements; ++e) as[e] = as_read<T>(a.x[e]);
    for (int e = 0; e < b.num_elements; ++e) bs[e] = as_read<T>(b.x[e]);
    for (int e = 0; e < c.num_elements; ++e) cs[e] = float(c.x[e]);
    grid::Product own = {as, bs, cs, cs, M, N, K};
    grid_wmma_product(&own, line, file);
    for (int e = 0; e < d.num_elements; ++e) d.x[e] = D(cs[e]);
}

} // namespace wmma
} // namespace nvcuda

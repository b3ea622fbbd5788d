// c `[16, 16]` = a `[16, 8]` · b `[8, 16]` with inputs rounded to tf32; b by columns. One warp.
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void tf32_product(const float* a, const float* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    wmma::load_matrix_sync(left, a, 8);
    wmma::load_matrix_sync(right, b, 8);
    for (int i = 0; i < left.num_elements; ++i) left.x[i] = wmma::__float_to_tf32(left.x[i]);
    for (int i = 0; i < right.num_elements; ++i) right.x[i] = wmma::__float_to_tf32(right.x[i]);
    wmma::mma_sync(sums, left, right, sums);
    wmma::store_matrix_sync(c, sums, 16, wmma::mem_row_major);
}

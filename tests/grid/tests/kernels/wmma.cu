// c `[m, n]` = a `[m, k]` · b `[k, n]` on tensor cores, float sums. A warp makes 16 × 16 values. The columns of a arrive by
// asynchronous copies into two buffers where k is a multiple of 8; else by plain stores.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;
typedef __nv_bfloat16 bf16;

__device__ void load_a(const bf16* a, bf16* tile, int row, int m, int from, int k) {
    for (int i = threadIdx.x; i < 16 * 2; i += 32) {
        int r = row + i / 2, c = from + i % 2 * 8;
        bf16* to = tile + i / 2 * 24 + i % 2 * 8;
        if (r < m && c + 8 <= k && k % 8 == 0) {
            __pipeline_memcpy_async(to, a + r * k + c, 16);
        } else {
            for (int j = 0; j < 8; ++j) to[j] = r < m && c + j < k ? a[r * k + c + j] : __float2bfloat16(0.0f);
        }
    }
}

extern "C" __global__ void wmma_product(const bf16* a, const bf16* b, float* c, int m, int n, int k) {
    __shared__ __align__(32) bf16 as[2][16 * 24];
    __shared__ __align__(32) bf16 bs[16 * 16];
    __shared__ __align__(32) float out[16][16];
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    load_a(a, as[0], row, m, 0, k);
    __pipeline_commit();
    for (int from = 0, step = 0; from < k; from += 16, ++step) {
        load_a(a, as[(step + 1) % 2], row, m, from + 16, k);
        __pipeline_commit();
        for (int i = threadIdx.x; i < 256; i += 32) {
            int r = from + i / 16, col = column + i % 16;
            bs[i] = r < k && col < n ? b[r * n + col] : __float2bfloat16(0.0f);
        }
        __pipeline_wait_prior(1);
        __syncwarp(); // loaded
        wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> right;
        wmma::load_matrix_sync(left, as[step % 2], 24);
        wmma::load_matrix_sync(right, bs, 16);
        wmma::mma_sync(sums, left, right, sums);
        __syncwarp(); // used
    }
    wmma::store_matrix_sync(&out[0][0], sums, 16, wmma::mem_row_major);
    __syncwarp(); // stored
    for (int i = threadIdx.x; i < 256; i += 32) {
        int r = row + i / 16, col = column + i % 16;
        if (r < m && col < n) c[r * n + col] = out[i / 16][i % 16];
    }
}

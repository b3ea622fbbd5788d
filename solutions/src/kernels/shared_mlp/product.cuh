// Products of all rows of one part of a cloud with 64 channels, tile by tile on tensor cores. The channels' weights stay in
// shared memory, and the rows stream through two buffers (cp.async). What happens to a finished tile is the caller's.
#pragma once
#include "greatest.cuh"
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

#define CHANNELS 64
#define ROWS 128
#define WARPS 8
#define CHUNK_BYTES 128
#define COPY_BYTES 16

// Operands of a type: the depth of a fragment, and what a loaded value still needs. f32 is rounded to tf32.
template <typename T> struct Operand {
    typedef T Stored;
    static const int DEPTH = 16;
    template <typename F> static __device__ void finish(F&) {}
};
template <> struct Operand<float> {
    typedef wmma::precision::tf32 Stored;
    static const int DEPTH = 8;
    template <typename F> static __device__ void finish(F& f) {
        for (int i = 0; i < f.num_elements; ++i) f.x[i] = wmma::__float_to_tf32(f.x[i]);
    }
};

// 16 × 16 sums, divided among the lanes of a warp.
template <typename T> struct Sums {
    typedef wmma::fragment<wmma::accumulator, 16, 16, Operand<T>::DEPTH, float> Fragment;
};

// Sizes in elements. A row is 16 bytes longer than its values, so that rows begin in different banks.
template <typename T> struct Sizes {
    static const int SKEW = COPY_BYTES / sizeof(T);
    static const int CHUNK = CHUNK_BYTES / sizeof(T);
    static const int STEP = CHUNK + SKEW;
    static __device__ int chunks(int k) { return (k + CHUNK - 1) / CHUNK; }
    static __device__ int weight_step(int k) { return chunks(k) * CHUNK + SKEW; }
};

// The place of a warp in a tile: four warps share the rows and two the channels, 32 × 32 each, 2 × 2 fragments.
__device__ inline int warp_row() { return threadIdx.x / WARP / 2 * 32; }
__device__ inline int warp_channel() { return threadIdx.x / WARP % 2 * 32; }

// Starts to copy rows `row..row + ROWS`, columns `from..from + CHUNK` of A. Rows beyond the end repeat the last one, which
// is never the first of equals; columns beyond k are 0.
template <typename T> __device__ void load(const T* a, T* to, int row, int end, int from, int k) {
    const int values = COPY_BYTES / sizeof(T), copies = CHUNK_BYTES / COPY_BYTES;
    for (int i = threadIdx.x; i < ROWS * copies; i += WARPS * WARP) {
        int r = i / copies, c = i % copies * values;
        const T* source = a + (long long)min(row + r, end - 1) * k + from + c;
        T* target = to + r * Sizes<T>::STEP + c;
        if (k % values == 0 && from + c < k) {
            __pipeline_memcpy_async(target, source, COPY_BYTES);
        } else {
            for (int j = 0; j < values; ++j) target[j] = from + c + j < k ? source[j] : Rounded<T>::of(0.0f);
        }
    }
}

// Calls `finished(tile, i, j, sums)` for each tile of rows and each fragment (i, j) of this warp. `weights`: CHANNELS rows of
// `weight_step`; `buffers`: two of ROWS × STEP. The caller has written the weights; no barrier is needed between.
template <typename T, typename Finished>
__device__ void each_product(const T* a, int k, Rows rows, const T* weights, T* buffers, Finished& finished) {
    const int DEPTH = Operand<T>::DEPTH, CHUNK = Sizes<T>::CHUNK, STEP = Sizes<T>::STEP;
    int w_step = Sizes<T>::weight_step(k), chunks = Sizes<T>::chunks(k);
    typename Sums<T>::Fragment sums[2][2];
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
    }
    int steps = (rows.end - rows.from + ROWS - 1) / ROWS * chunks;
    load(a, buffers, rows.from, rows.end, 0, k);
    __pipeline_commit();
    for (int step = 0; step < steps; ++step) {
        int next = step + 1;
        if (next < steps) {
            load(a, buffers + next % 2 * ROWS * STEP, rows.from + next / chunks * ROWS, rows.end, next % chunks * CHUNK, k);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        const T* left = buffers + step % 2 * ROWS * STEP + warp_row() * STEP;
        const T* right = weights + warp_channel() * w_step + step % chunks * CHUNK;
        for (int d = 0; d < CHUNK; d += DEPTH) {
            wmma::fragment<wmma::matrix_a, 16, 16, DEPTH, typename Operand<T>::Stored, wmma::row_major> l[2];
            wmma::fragment<wmma::matrix_b, 16, 16, DEPTH, typename Operand<T>::Stored, wmma::col_major> r[2];
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(l[i], left + i * 16 * STEP + d, STEP);
                Operand<T>::finish(l[i]);
                wmma::load_matrix_sync(r[i], right + i * 16 * w_step + d, w_step);
                Operand<T>::finish(r[i]);
            }
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], l[i], r[j], sums[i][j]);
            }
        }
        if (step % chunks == chunks - 1) {
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) {
                    finished(step / chunks, i, j, sums[i][j]);
                    wmma::fill_fragment(sums[i][j], 0.0f);
                }
            }
        }
        __syncthreads(); // The next copy writes to the buffer that this step has read.
    }
}

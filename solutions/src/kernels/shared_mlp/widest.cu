// The widest layer's product with the maximum over each cloud's points, on tensor cores, without storing the product
// (`widest.rs`, `greatest.rs`). A `[points, k]`, W `[n, k]`, starts `[clouds + 1]` → for each cloud and channel the greatest
// product (the least if γ < 0) and its first row, as keys `[clouds, n]`, which are 0 before.
// bf16 and fp16 as they are, f32 rounded to tf32; the sums are in float.
// Bound: points·k·n multiply-adds on tensor cores; A is read n/64 times, from the L2 cache.
//
// A block has 64 channels of one part of a cloud: its rows of W stay in shared memory, and those of A stream through two
// buffers (cp.async). The maximum is kept where the products come into being: each thread compares its elements of the
// accumulators with those of the tile of rows before, in registers, so that nothing is stored between two tiles. Only
// after the last one are the rows of a tile compared with each other.
#include "greatest.cuh"
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

#define CHANNELS 64
#define ROWS 128
#define WARPS 8
#define CHUNK_BYTES 128
#define COPY_BYTES 16

// Operands of a type: the depth of a fragment, and what a loaded value still needs.
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

// Sizes in elements. A row is 16 bytes longer than its values, so that rows begin in different banks.
template <typename T> struct Sizes {
    static const int SKEW = COPY_BYTES / sizeof(T);
    static const int CHUNK = CHUNK_BYTES / sizeof(T);
    static const int STEP = CHUNK + SKEW;
    static __device__ int depth(int k) { return (k + CHUNK - 1) / CHUNK * CHUNK; }
};

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

typedef wmma::fragment<wmma::accumulator, 16, 16, Operand<bf16>::DEPTH, float> Sums16;
typedef wmma::fragment<wmma::accumulator, 16, 16, Operand<float>::DEPTH, float> Sums8;

template <typename T, typename Sums>
__device__ void widest(const T* a, const T* w, const float* gamma, const int* starts, Key* keys, int n, int k, int parts) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ Key best_of[CHANNELS];
    const int DEPTH = Operand<T>::DEPTH, CHUNK = Sizes<T>::CHUNK, STEP = Sizes<T>::STEP;
    const int w_step = Sizes<T>::depth(k) + Sizes<T>::SKEW, chunks = Sizes<T>::depth(k) / CHUNK;
    T* weights = (T*)memory;
    T* buffers = weights + CHANNELS * w_step;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int warp_row = warp / 2 * 32, warp_channel = warp % 2 * 32;
    int cloud = blockIdx.y;
    Rows rows = part_of(starts, cloud, blockIdx.z, parts, ROWS);
    if (rows.from >= rows.end) return;

    for (int i = threadIdx.x; i < CHANNELS; i += blockDim.x) best_of[i] = 0;
    for (int i = threadIdx.x; i < CHANNELS * chunks * CHUNK; i += blockDim.x) {
        int c = i / (chunks * CHUNK), j = i % (chunks * CHUNK), channel = blockIdx.x * CHANNELS + c;
        bool inside = channel < n && j < k;
        float v = inside ? as_float(w[(long long)channel * k + j]) * sign_of(gamma[channel]) : 0.0f;
        weights[c * w_step + j] = Rounded<T>::of(v);
    }

    Sums best[2][2], tile_of[2][2], sums[2][2];
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            wmma::fill_fragment(best[i][j], -INFINITY);
            wmma::fill_fragment(tile_of[i][j], 0.0f);
            wmma::fill_fragment(sums[i][j], 0.0f);
        }
    }
    int tiles = (rows.end - rows.from + ROWS - 1) / ROWS, steps = tiles * chunks;
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
        const T* left = buffers + step % 2 * ROWS * STEP + warp_row * STEP;
        const T* right = weights + warp_channel * w_step + step % chunks * CHUNK;
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
            float tile = (float)(step / chunks);
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) {
                    for (int e = 0; e < best[i][j].num_elements; ++e) {
                        if (exceeds(sums[i][j].x[e], best[i][j].x[e])) {
                            best[i][j].x[e] = sums[i][j].x[e];
                            tile_of[i][j].x[e] = tile;
                        }
                    }
                    wmma::fill_fragment(sums[i][j], 0.0f);
                }
            }
        }
        __syncthreads(); // The next copy writes to the buffer that this step has read.
    }

    // The rows of a tile are compared: a lane has 8 rows of one channel of a fragment.
    float* values = (float*)buffers + warp * 512;
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            wmma::store_matrix_sync(values, best[i][j], 16, wmma::mem_row_major);
            wmma::store_matrix_sync(values + 256, tile_of[i][j], 16, wmma::mem_row_major);
            __syncwarp();
            Key key = 0;
            for (int r = lane / 16 * 8; r < lane / 16 * 8 + 8; ++r) {
                int row = rows.from + (int)values[256 + r * 16 + lane % 16] * ROWS + warp_row + i * 16 + r;
                key = max(key, key_of(values[r * 16 + lane % 16], min(row, rows.end - 1)));
            }
            atomicMax(&best_of[warp_channel + j * 16 + lane % 16], key);
            __syncwarp();
        }
    }
    __syncthreads();
    for (int c = threadIdx.x; c < CHANNELS; c += blockDim.x) {
        int channel = blockIdx.x * CHANNELS + c;
        if (channel < n) atomicMax(&keys[(long long)cloud * n + channel], best_of[c]);
    }
}

// Grid (channels / CHANNELS, clouds, parts), WARPS warps. Dynamic shared memory: CHANNELS rows of W, of whole chunks and
// 16 bytes more, and two buffers of ROWS such chunks.
#define KERNEL(T, NAME, SUMS)                                                                                         \
    extern "C" __global__ void __launch_bounds__(WARPS * WARP)                                                         \
        widest_##NAME(const T* a, const T* w, const float* gamma, const int* starts, Key* keys, int n, int k,          \
                      int parts) {                                                                                     \
        widest<T, SUMS>(a, w, gamma, starts, keys, n, k, parts);                                                       \
    }
KERNEL(float, tf32, Sums8)
KERNEL(bf16, bf16, Sums16)
KERNEL(f16, f16, Sums16)

// The widest layer's product with the maximum over each cloud's points, on tensor cores, without storing the product
// (`widest.rs`, `greatest.rs`). A `[points, k]`, W `[n, k]`, starts `[clouds + 1]` → for each cloud and channel the greatest
// product (the least if γ < 0) and its first row, as keys `[clouds, n]`, which are 0 before.
// bf16 and fp16 as they are, f32 rounded to tf32; the sums are in float.
// Bound: points·k·n multiply-adds on tensor cores; A is read n/64 times, from the L2 cache.
//
// The maximum is kept where the products come into being: each thread compares its elements of the accumulators with those
// of the tile of rows before, in registers, so that nothing is stored between two tiles. Only after the last one are the
// rows of a tile compared with each other.
#include "product.cuh"

// The greatest sum at each place of a tile, and the number of its tile.
template <typename T> struct Best {
    typename Sums<T>::Fragment value[2][2], tile_of[2][2];

    __device__ Best() {
        for (int i = 0; i < 2; ++i) {
            for (int j = 0; j < 2; ++j) {
                wmma::fill_fragment(value[i][j], -INFINITY);
                wmma::fill_fragment(tile_of[i][j], 0.0f);
            }
        }
    }

    __device__ void operator()(int tile, int i, int j, const typename Sums<T>::Fragment& sums) {
        for (int e = 0; e < sums.num_elements; ++e) {
            if (exceeds(sums.x[e], value[i][j].x[e])) {
                value[i][j].x[e] = sums.x[e];
                tile_of[i][j].x[e] = (float)tile;
            }
        }
    }
};

template <typename T>
__device__ void widest(const T* a, const T* w, const float* gamma, const int* starts, Key* keys, int n, int k, int parts) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ Key best_of[CHANNELS];
    int w_step = Sizes<T>::weight_step(k), depth = w_step - Sizes<T>::SKEW;
    T* weights = (T*)memory;
    T* buffers = weights + CHANNELS * w_step;
    Rows rows = part_of(starts, blockIdx.y, blockIdx.z, parts, ROWS);
    if (rows.from >= rows.end) return;
    for (int i = threadIdx.x; i < CHANNELS; i += blockDim.x) best_of[i] = 0;
    for (int i = threadIdx.x; i < CHANNELS * depth; i += blockDim.x) {
        int c = i / depth, d = i % depth, channel = blockIdx.x * CHANNELS + c;
        bool inside = channel < n && d < k;
        float v = inside ? as_float(w[(long long)channel * k + d]) * sign_of(gamma[channel]) : 0.0f;
        weights[c * w_step + d] = Rounded<T>::of(v);
    }
    Best<T> best;
    each_product(a, k, rows, weights, buffers, best);

    // The rows of a tile are compared: a lane has 8 rows of one channel of a fragment.
    int lane = threadIdx.x % WARP;
    float* values = (float*)buffers + threadIdx.x / WARP * 512;
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            wmma::store_matrix_sync(values, best.value[i][j], 16, wmma::mem_row_major);
            wmma::store_matrix_sync(values + 256, best.tile_of[i][j], 16, wmma::mem_row_major);
            __syncwarp();
            Key key = 0;
            for (int r = lane / 16 * 8; r < lane / 16 * 8 + 8; ++r) {
                int row = rows.from + (int)values[256 + r * 16 + lane % 16] * ROWS + warp_row() + i * 16 + r;
                key = max(key, key_of(values[r * 16 + lane % 16], min(row, rows.end - 1)));
            }
            atomicMax(&best_of[warp_channel() + j * 16 + lane % 16], key);
            __syncwarp();
        }
    }
    __syncthreads();
    for (int c = threadIdx.x; c < CHANNELS; c += blockDim.x) {
        int channel = blockIdx.x * CHANNELS + c;
        if (channel < n) atomicMax(&keys[(long long)blockIdx.y * n + channel], best_of[c]);
    }
}

// Grid (channels / CHANNELS, clouds, parts), WARPS warps. Dynamic shared memory: CHANNELS rows of W, of whole chunks and
// 16 bytes more, and two buffers of ROWS such chunks.
#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void __launch_bounds__(WARPS * WARP)                                                         \
        widest_##NAME(const T* a, const T* w, const float* gamma, const int* starts, Key* keys, int n, int k,          \
                      int parts) {                                                                                     \
        widest(a, w, gamma, starts, keys, n, k, parts);                                                                \
    }
KERNEL(float, tf32)
KERNEL(bf16, bf16)
KERNEL(f16, f16)

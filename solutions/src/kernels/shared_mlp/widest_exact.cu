// The product and the maximum of `widest.cu` in f32, without tensor cores: each sum adds in the order of k, by fused
// multiply-adds, as the register tile of the CPU does.
// Bound: points·k·n multiply-adds in f32.
#include "greatest.cuh"

#define TILE 64
#define CHUNK 16

// A block of 256 threads has TILE channels of one part of a cloud; a thread has 4 rows × 4 channels of a tile. Grid
// (channels / TILE, clouds, parts). With a `count` of candidates that the filter could list, it does nothing: they are
// computed. `count` may be null.
extern "C" __global__ void __launch_bounds__(256)
    widest_f32(const float* a, const float* w, const float* gamma, const int* starts, Key* keys, int n, int k, int parts,
               const unsigned* count, unsigned capacity) {
    __shared__ float left[CHUNK][TILE + 1], right[CHUNK][TILE + 1];
    __shared__ Key best_of[TILE];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    Rows rows = part_of(starts, blockIdx.y, blockIdx.z, parts, TILE);
    if (rows.from >= rows.end || (count && *count <= capacity)) return;
    if (threadIdx.x < TILE) best_of[threadIdx.x] = 0;
    Key best[4] = {};
    for (int first = rows.from; first < rows.end; first += TILE) {
        float sums[4][4] = {};
        for (int from = 0; from < k; from += CHUNK) {
            for (int i = threadIdx.x; i < CHUNK * TILE; i += blockDim.x) {
                int d = from + i % CHUNK, row = min(first + i / CHUNK, rows.end - 1), c = blockIdx.x * TILE + i / CHUNK;
                bool inside = d < k && c < n;
                left[i % CHUNK][i / CHUNK] = d < k ? a[(long long)row * k + d] : 0.0f;
                right[i % CHUNK][i / CHUNK] = inside ? w[(long long)c * k + d] * sign_of(gamma[c]) : 0.0f;
            }
            __syncthreads();
            for (int d = 0; d < min(CHUNK, k - from); ++d) {
                for (int i = 0; i < 4; ++i) {
                    for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(left[d][y + 16 * i], right[d][x + 16 * j], sums[i][j]);
                }
            }
            __syncthreads();
        }
        for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 4; ++j) {
                best[j] = max(best[j], key_of(sums[i][j], min(first + y + 16 * i, rows.end - 1)));
            }
        }
    }
    for (int j = 0; j < 4; ++j) atomicMax(&best_of[x + 16 * j], best[j]);
    __syncthreads();
    int channel = blockIdx.x * TILE + threadIdx.x;
    if (threadIdx.x < TILE && channel < n) atomicMax(&keys[(long long)blockIdx.y * n + channel], best_of[threadIdx.x]);
}

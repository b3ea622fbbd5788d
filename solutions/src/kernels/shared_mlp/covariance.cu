// S, the sum over the rows of A `[rows, k]` of the products of two channels' differences from their means, as
// `covariance.rs`; and what follows from it for the widest layer, W `[n, k]`: W·S, and the mean and the variance of each
// channel of A·Wᵀ, without that product.
// Bound: rows·k²/2 multiply-adds; A is read k/64 times, from the L2 cache.
#include "values.cuh"

#define TILE 64
#define CHUNK 16

// partial `[groups, k, k]`, tiles on and above the diagonal. Blocks of 256 threads, 4 × 4 sums each; grid (tiles, tiles,
// groups of `group` rows).
template <typename T>
__device__ void products(const T* a, const double* mean, float* partial, int rows, int k, int group) {
    __shared__ float left[CHUNK][TILE], right[CHUNK][TILE];
    if (blockIdx.x < blockIdx.y) return;
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    int from = blockIdx.z * group, end = min(rows, from + group);
    float sums[4][4] = {};
    for (int row = from; row < end; row += CHUNK) {
        for (int i = threadIdx.x; i < CHUNK * TILE; i += blockDim.x) {
            int r = row + i / TILE, l = blockIdx.y * TILE + i % TILE, c = blockIdx.x * TILE + i % TILE;
            left[i / TILE][i % TILE] = r < end && l < k ? as_float(a[(long long)r * k + l]) - (float)mean[l] : 0.0f;
            right[i / TILE][i % TILE] = r < end && c < k ? as_float(a[(long long)r * k + c]) - (float)mean[c] : 0.0f;
        }
        __syncthreads();
        for (int r = 0; r < CHUNK; ++r) {
            for (int i = 0; i < 4; ++i) {
                for (int j = 0; j < 4; ++j) sums[i][j] += left[r][y + 16 * i] * right[r][x + 16 * j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
            int l = blockIdx.y * TILE + y + 16 * i, c = blockIdx.x * TILE + x + 16 * j;
            if (l < k && c < k) partial[((long long)blockIdx.z * k + l) * k + c] = sums[i][j];
        }
    }
}

// S `[k, k]`, the groups added in order. A thread a pair of channels.
extern "C" __global__ void covariance(const float* partial, float* s, int k, int groups) {
    int pair = (int)first_element();
    if (pair >= k * k) return;
    int l = min(pair / k, pair % k), c = max(pair / k, pair % k);
    double sum = 0.0;
    for (int g = 0; g < groups; ++g) sum += partial[((long long)g * k + l) * k + c];
    s[pair] = (float)sum;
}

// ws `[n, k]` = W·S; the mean w·ā and the variance w·S·w/M of each channel. A block a channel.
template <typename T>
__device__ void channel_statistics(const T* w, const float* s, const double* a_mean, double rows, float* ws, double* mean,
                                   double* var, int k) {
    __shared__ double scratch[WARP];
    const T* own = w + (long long)blockIdx.x * k;
    double of_mean = 0.0, of_var = 0.0;
    for (int j = threadIdx.x; j < k; j += blockDim.x) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i) sum += as_float(own[i]) * s[(long long)i * k + j];
        ws[(long long)blockIdx.x * k + j] = sum;
        of_mean += (double)as_float(own[j]) * a_mean[j];
        of_var += (double)as_float(own[j]) * sum;
    }
    of_mean = block_sum(of_mean, scratch);
    of_var = block_sum(of_var, scratch);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = of_mean;
        var[blockIdx.x] = fmax(of_var, 0.0) / rows;
    }
}

#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        covariance_products_##NAME(const T* a, const double* mean, float* partial, int rows, int k, int group) {        \
        products(a, mean, partial, rows, k, group);                                                                    \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(128)                                                                  \
        channel_statistics_##NAME(const T* w, const float* s, const double* a_mean, double rows, float* ws,             \
                                  double* mean, double* var, int k) {                                                  \
        channel_statistics(w, s, a_mean, rows, ws, mean, var, k);                                                      \
    }
EACH_TYPE(KERNEL)

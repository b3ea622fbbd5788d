// The backward pass of the widest layer and its maximum in closed form, as `backward_max.rs`: the gradient g is nonzero at
// one row for each cloud and channel. With the centred input Ac, S = AcᵀAc, u = γ/σ, p = u·dβ/M and q = u·dγ/(σ·M):
//   dW = (u·g)ᵀAc − diag(q)·W·S        dA = (u·g)·W − 1pᵀW − Ac·Q, Q = Wᵀdiag(q)W
// factors `[4, n]` are those of fold_statistics, sums `[2, n]` are dβ and dγ; those of all ranks, where dA and dW need them.
// Bound: rows·k² multiply-adds for dA, which replace the 2·rows·k·n of a stored layer.
#include "values.cuh"

// ug `[clouds, n]` = u·g, 0 where the ReLU's output is 0; sums `[2, n]`. A thread a channel.
template <typename T>
__device__ void masked(const T* g, const float* xhat, const float* factors, const float* gamma, const float* beta, float* ug,
                       float* sums, int clouds, int n, int relu) {
    int c = (int)first_element();
    if (c >= n) return;
    double of_beta = 0.0, of_gamma = 0.0;
    for (long long i = c; i < (long long)clouds * n; i += n) {
        bool open = !relu || xhat[i] * gamma[c] + beta[c] > 0.0f;
        float v = open ? as_float(g[i]) : 0.0f;
        of_beta += v;
        if (open) of_gamma += (double)v * xhat[i];
        ug[i] = v * factors[2 * n + c];
    }
    sums[c] = (float)of_beta;
    sums[n + c] = (float)of_gamma;
}

__device__ inline float p_of(const float* factors, const float* sums, float inverse_rows, int n, int c) {
    return factors[2 * n + c] * sums[c] * inverse_rows;
}

__device__ inline float q_of(const float* factors, const float* sums, float inverse_rows, int n, int c) {
    return factors[2 * n + c] * sums[n + c] * inverse_rows * factors[n + c];
}

// dw `[n, k]`. A block a channel.
template <typename T>
__device__ void weight_gradient(const float* ug, const int* at, const T* a, const double* a_mean, const float* ws,
                                const float* factors, const float* sums, float inverse_rows, float* dw, int clouds, int n,
                                int k) {
    int c = blockIdx.x;
    float q = q_of(factors, sums, inverse_rows, n, c);
    for (int j = threadIdx.x; j < k; j += blockDim.x) {
        float sum = 0.0f;
        for (long long i = c; i < (long long)clouds * n; i += n) {
            if (ug[i] != 0.0f) sum += ug[i] * (as_float(a[(long long)at[i] * k + j]) - (float)a_mean[j]);
        }
        dw[(long long)c * k + j] = sum - q * ws[(long long)c * k + j];
    }
}

// Q `[k, k]` and pw `[k]` = pᵀW. Blocks of 16 × 16 threads, one value of Q each; grid (k / 16, k / 16).
template <typename T>
__device__ void quadratic(const T* w, const float* factors, const float* sums, float inverse_rows, float* quad, float* pw,
                          int n, int k) {
    __shared__ float left[16][17], right[16][17], p[16], q[16];
    int x = threadIdx.x, y = threadIdx.y, l = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;
    float sum = 0.0f, of_p = 0.0f;
    for (int from = 0; from < n; from += 16) {
        int channel = from + y, left_column = blockIdx.y * 16 + x;
        bool inside = channel < n;
        left[y][x] = inside && left_column < k ? as_float(w[(long long)channel * k + left_column]) : 0.0f;
        right[y][x] = inside && c < k ? as_float(w[(long long)channel * k + c]) : 0.0f;
        if (x == 0) {
            p[y] = inside ? p_of(factors, sums, inverse_rows, n, channel) : 0.0f;
            q[y] = inside ? q_of(factors, sums, inverse_rows, n, channel) : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i) {
            sum += left[i][y] * q[i] * right[i][x];
            of_p += p[i] * right[i][x];
        }
        __syncthreads();
    }
    if (l < k && c < k) quad[(long long)l * k + c] = sum;
    if (l == 0 && c < k) pw[c] = of_p;
}

#define TALL 32
#define WIDE 64
#define CHUNK 16
#define THREADS 256

// Adds ug·W at the rows of the arg-maxima to `out`, for the channels whose arg-max is in rows `first..first + TALL`. They
// are listed in their order, so that the sums do not depend on timing. A thread adds to one column of 8 of the rows. There
// is a barrier before the first sum and after the last one.
template <typename T>
__device__ void add_sparse(float (*out)[WIDE + 1], const float* ug, const int* at, const T* w, int first, int column, int n,
                           int k) {
    __shared__ int listed[THREADS], before[THREADS / WARP + 1];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    int x = threadIdx.x % WIDE, group = threadIdx.x / WIDE;
    for (int from = 0; from < n; from += THREADS) {
        int c = from + threadIdx.x;
        bool hit = c < n && ug[c] != 0.0f && at[c] >= first && at[c] < first + TALL;
        unsigned hits = __ballot_sync(ALL_LANES, hit);
        if (lane == 0) before[warp + 1] = __popc(hits);
        if (threadIdx.x == 0) before[0] = 0;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 1; i <= THREADS / WARP; ++i) before[i] += before[i - 1];
        }
        __syncthreads();
        if (hit) listed[before[warp] + __popc(hits & ((1u << lane) - 1))] = c;
        __syncthreads();
        for (int i = 0; i < before[THREADS / WARP]; ++i) {
            int channel = listed[i], row = at[channel] - first;
            if (row / (TALL * WIDE / THREADS) == group && column + x < k) {
                out[row][x] += ug[channel] * as_float(w[(long long)channel * k + column + x]);
            }
        }
        __syncthreads();
    }
}

// dx `[points, k]`. Grid (tiles of TALL rows of the longest cloud, clouds, k / WIDE).
template <typename T>
__device__ void input_gradient(const T* a, const double* a_mean, const float* quad, const float* pw, const T* w,
                               const float* ug, const int* at, const int* starts, T* dx, int n, int k) {
    __shared__ float left[CHUNK][TALL + 1], right[CHUNK][WIDE + 1], out[TALL][WIDE + 1];
    int cloud = blockIdx.y, column = blockIdx.z * WIDE;
    int first = starts[cloud] + blockIdx.x * TALL, end = starts[cloud + 1];
    if (first >= end) return;
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float sums[2][4] = {};
    for (int from = 0; from < k; from += CHUNK) {
        for (int i = threadIdx.x; i < CHUNK * TALL; i += THREADS) {
            int d = from + i % CHUNK, row = first + i / CHUNK;
            bool inside = d < k && row < end;
            left[i % CHUNK][i / CHUNK] = inside ? as_float(a[(long long)row * k + d]) - (float)a_mean[d] : 0.0f;
        }
        for (int i = threadIdx.x; i < CHUNK * WIDE; i += THREADS) {
            int d = from + i / WIDE, c = column + i % WIDE;
            right[i / WIDE][i % WIDE] = d < k && c < k ? quad[(long long)d * k + c] : 0.0f;
        }
        __syncthreads();
        for (int d = 0; d < CHUNK; ++d) {
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 4; ++j) sums[i][j] += left[d][y + 16 * i] * right[d][x + 16 * j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) {
            int c = column + x + 16 * j;
            out[y + 16 * i][x + 16 * j] = c < k ? -pw[c] - sums[i][j] : 0.0f;
        }
    }
    add_sparse(out, ug + (long long)cloud * n, at + (long long)cloud * n, w, first, column, n, k);
    for (int i = threadIdx.x; i < TALL * WIDE; i += THREADS) {
        int row = first + i / WIDE, c = column + i % WIDE;
        if (row < end && c < k) dx[(long long)row * k + c] = Rounded<T>::of(out[i / WIDE][i % WIDE]);
    }
}

#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void widest_masked_##NAME(const T* g, const float* xhat, const float* factors,               \
                                                    const float* gamma, const float* beta, float* ug, float* sums,    \
                                                    int clouds, int n, int relu) {                                     \
        masked(g, xhat, factors, gamma, beta, ug, sums, clouds, n, relu);                                              \
    }                                                                                                                  \
    extern "C" __global__ void widest_dw_##NAME(const float* ug, const int* at, const T* a, const double* a_mean,       \
                                                const float* ws, const float* factors, const float* sums,             \
                                                float inverse_rows, float* dw, int clouds, int n, int k) {             \
        weight_gradient(ug, at, a, a_mean, ws, factors, sums, inverse_rows, dw, clouds, n, k);                         \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        widest_quadratic_##NAME(const T* w, const float* factors, const float* sums, float inverse_rows, float* quad,  \
                                float* pw, int n, int k) {                                                             \
        quadratic(w, factors, sums, inverse_rows, quad, pw, n, k);                                                     \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        widest_dx_##NAME(const T* a, const double* a_mean, const float* quad, const float* pw, const T* w,              \
                         const float* ug, const int* at, const int* starts, T* dx, int n, int k) {                     \
        input_gradient(a, a_mean, quad, pw, w, ug, at, starts, dx, n, k);                                              \
    }
EACH_TYPE(KERNEL)

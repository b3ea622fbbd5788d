// Each cloud's points times the cloud's own matrix, and how far the matrices are from orthogonal, as `transform.rs`.
// x `[points, k]`, t `[clouds, k, k]`, starts `[clouds + 1]`; k is 3 or 64 in PointNet.
// Bound: points·k² multiply-adds; one read and one write of the points.
#include "values.cuh"

#define TILE 32
#define CHUNK 32

// y = x·t, or x·tᵀ if `transposed`: the gradient of the points. A block of 256 threads has TILE rows × TILE columns, 4 rows
// a thread. Grid (tiles of the longest cloud, clouds, k / TILE).
template <typename T>
__device__ void transform(const T* x, const T* t, const int* starts, T* y, int k, int transposed) {
    __shared__ float left[CHUNK][TILE + 1], right[CHUNK][TILE + 1];
    int first = starts[blockIdx.y] + blockIdx.x * TILE, end = starts[blockIdx.y + 1];
    if (first >= end) return;
    const T* of_cloud = t + (long long)blockIdx.y * k * k;
    int lane = threadIdx.x % TILE, line = threadIdx.x / TILE, column = blockIdx.z * TILE + lane;
    float sums[4] = {};
    for (int from = 0; from < k; from += CHUNK) {
        for (int i = line; i < TILE; i += 8) {
            int row = first + i, d = from + lane, wide = transposed ? blockIdx.z * TILE + i : from + i;
            left[lane][i] = row < end && d < k ? as_float(x[(long long)row * k + d]) : 0.0f;
            if (transposed) right[lane][i] = wide < k && d < k ? as_float(of_cloud[wide * k + d]) : 0.0f;
            else right[i][lane] = wide < k && column < k ? as_float(of_cloud[wide * k + column]) : 0.0f;
        }
        __syncthreads();
        for (int d = 0; d < min(CHUNK, k - from); ++d) {
            for (int i = 0; i < 4; ++i) sums[i] += left[d][line + 8 * i] * right[d][lane];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        int row = first + line + 8 * i;
        if (row < end && column < k) y[(long long)row * k + column] = Rounded<T>::of(sums[i]);
    }
}

// dt = xᵀg of each cloud. A block of TILE × 8 threads has TILE × TILE of the matrix. Grid (k / TILE, k / TILE, clouds).
template <typename T> __device__ void matrix_gradient(const T* x, const T* g, const int* starts, T* dt, int k) {
    __shared__ float left[CHUNK][TILE + 1], right[CHUNK][TILE + 1];
    int end = starts[blockIdx.z + 1], lane = threadIdx.x % TILE, line = threadIdx.x / TILE;
    int row_of_t = blockIdx.y * TILE, column = blockIdx.x * TILE + lane;
    float sums[4] = {};
    for (int from = starts[blockIdx.z]; from < end; from += CHUNK) {
        for (int i = line; i < CHUNK; i += 8) {
            long long row = from + i;
            left[i][lane] = row < end && row_of_t + lane < k ? as_float(x[row * k + row_of_t + lane]) : 0.0f;
            right[i][lane] = row < end && column < k ? as_float(g[row * k + column]) : 0.0f;
        }
        __syncthreads();
        for (int r = 0; r < CHUNK; ++r) {
            for (int i = 0; i < 4; ++i) sums[i] += left[r][line + 8 * i] * right[r][lane];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        int row = row_of_t + line + 8 * i;
        if (row < k && column < k) dt[((long long)blockIdx.z * k + row) * k + column] = Rounded<T>::of(sums[i]);
    }
}

// y = x + I, x a T-Net's output `[clouds, k·k]`. The gradient of x is that of y.
template <typename T> __device__ void add_identity(const T* x, T* y, long long clouds, int k) {
    for (long long i = first_element(); i < clouds * k * k; i += element_stride()) {
        bool diagonal = i % (k * k) % (k + 1) == 0;
        y[i] = diagonal ? Rounded<T>::of(as_float(x[i]) + 1.0f) : x[i];
    }
}

// off = A·Aᵀ − I of each cloud's matrix A `[k, k]`, and its square norm (Qi et al. 2017, equation 2), norms `[clouds]`. A
// block a cloud.
template <typename T> __device__ void off_orthogonal(const T* t, float* off, float* norms, int k) {
    __shared__ double scratch[WARP];
    const T* a = t + (long long)blockIdx.x * k * k;
    double own = 0.0;
    for (int i = threadIdx.x; i < k * k; i += blockDim.x) {
        int row = i / k, column = i % k;
        float sum = row == column ? -1.0f : 0.0f;
        for (int d = 0; d < k; ++d) sum += as_float(a[row * k + d]) * as_float(a[column * k + d]);
        off[(long long)blockIdx.x * k * k + i] = sum;
        own += (double)sum * sum;
    }
    own = block_sum(own, scratch);
    if (threadIdx.x == 0) norms[blockIdx.x] = (float)own;
}

// The mean of `n` values. One block.
extern "C" __global__ void __launch_bounds__(256) mean_of(const float* values, float* mean, int n) {
    __shared__ double scratch[WARP];
    double sum = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += values[i];
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0) *mean = (float)(sum / n);
}

// dt = 4·g/clouds · off·A, g the gradient of the mean, a scalar. A block a cloud.
template <typename T>
__device__ void orthogonality_backward(const T* t, const float* off, const float* g, T* dt, int k) {
    long long first = (long long)blockIdx.x * k * k;
    float factor = 4.0f * *g / gridDim.x;
    for (int i = threadIdx.x; i < k * k; i += blockDim.x) {
        float sum = 0.0f;
        for (int d = 0; d < k; ++d) sum += off[first + i / k * k + d] * as_float(t[first + d * k + i % k]);
        dt[first + i] = Rounded<T>::of(sum * factor);
    }
}

#define BOUNDS __launch_bounds__(256)
#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void BOUNDS transform_##NAME(const T* x, const T* t, const int* starts, T* y, int k,         \
                                                       int transposed) {                                               \
        transform(x, t, starts, y, k, transposed);                                                                     \
    }                                                                                                                  \
    extern "C" __global__ void BOUNDS matrix_gradient_##NAME(const T* x, const T* g, const int* starts, T* dt,         \
                                                             int k) {                                                  \
        matrix_gradient(x, g, starts, dt, k);                                                                          \
    }                                                                                                                  \
    extern "C" __global__ void BOUNDS add_identity_##NAME(const T* x, T* y, long long clouds, int k) {                 \
        add_identity(x, y, clouds, k);                                                                                 \
    }                                                                                                                  \
    extern "C" __global__ void BOUNDS off_orthogonal_##NAME(const T* t, float* off, float* norms, int k) {             \
        off_orthogonal(t, off, norms, k);                                                                              \
    }                                                                                                                  \
    extern "C" __global__ void BOUNDS orthogonality_backward_##NAME(const T* t, const float* off, const float* g,      \
                                                                    T* dt, int k) {                                    \
        orthogonality_backward(t, off, g, dt, k);                                                                      \
    }
EACH_TYPE(KERNEL)

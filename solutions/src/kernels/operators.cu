// The bias of a linear layer with its gradient, and the gradient of a loss times a scalar (`linear.rs`, `loss.rs`).
// Bound: one read of each input and one write of each element.
#include "values.cuh"

// y += bias, in place. y `[rows, n]`, bias `[n]`.
template <typename T> __device__ void add_bias(T* y, const float* bias, long long rows, int n) {
    for (long long i = first_element(); i < rows * n; i += element_stride()) {
        y[i] = Rounded<T>::of(as_float(y[i]) + bias[i % n]);
    }
}

// The gradient of a bias: the sum of each column of g `[rows, n]`. Blocks of WARP columns × 8 rows.
template <typename T> __device__ void column_sums(const T* g, float* sum, int rows, int n) {
    __shared__ double sums[8][WARP];
    int column = blockIdx.x * WARP + threadIdx.x;
    double own = 0.0;
    if (column < n) {
        for (long long row = threadIdx.y; row < rows; row += 8) own += as_float(g[row * n + column]);
    }
    sums[threadIdx.y][threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.y == 0 && column < n) {
        for (int y = 1; y < 8; ++y) own += sums[y][threadIdx.x];
        sum[column] = (float)own;
    }
}

// y = factor · x, the factor a scalar on the device: the gradient of a scalar loss reaches the loss's input so.
template <typename T> __device__ void scaled(const T* x, T* y, const float* factor, long long n) {
    for (long long i = first_element(); i < n; i += element_stride()) {
        y[i] = Rounded<T>::of(as_float(x[i]) * *factor);
    }
}

#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void add_bias_##NAME(T* y, const float* bias, long long rows, int n) {                       \
        add_bias(y, bias, rows, n);                                                                                    \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) column_sums_##NAME(const T* g, float* sum, int rows, int n) {    \
        column_sums(g, sum, rows, n);                                                                                  \
    }                                                                                                                  \
    extern "C" __global__ void scaled_##NAME(const T* x, T* y, const float* factor, long long n) {                     \
        scaled(x, y, factor, n);                                                                                       \
    }
EACH_TYPE(KERNEL)

// The maximum of each channel over each cloud's points with its first arg-max, and its backward pass (`operators.rs`).
// x `[points of all clouds, n]`, starts `[clouds + 1]` (the first row of each cloud) → y, at `[clouds, n]`.
// Bound: one read of x; backward one write of dx.
#include "values.cuh"

// Blocks of WARP channels × 8 rows; grid (channels / WARP, clouds).
template <typename T> __device__ void max_points(const T* x, const int* starts, T* y, int* at, int n) {
    __shared__ float tops[8][WARP];
    __shared__ int rows[8][WARP];
    int channel = blockIdx.x * WARP + threadIdx.x, cloud = blockIdx.y;
    int first = starts[cloud], end = starts[cloud + 1];
    float top = -INFINITY;
    int row = first;
    if (channel < n) {
        for (int r = first + threadIdx.y; r < end; r += 8) {
            float v = as_float(x[(long long)r * n + channel]);
            if (exceeds(v, top)) top = v, row = r;
        }
    }
    tops[threadIdx.y][threadIdx.x] = top;
    rows[threadIdx.y][threadIdx.x] = row;
    __syncthreads();
    if (threadIdx.y > 0 || channel >= n) return;
    for (int k = 1; k < 8; ++k) {
        float v = tops[k][threadIdx.x];
        int r = rows[k][threadIdx.x];
        bool equal = v == top || (v != v && top != top);
        if (exceeds(v, top) || (equal && r < row)) top = v, row = r;
    }
    y[(long long)cloud * n + channel] = Rounded<T>::of(top);
    at[(long long)cloud * n + channel] = row;
}

// Every element of dx is written, so that it need not be cleared first. Grid (any, clouds).
template <typename T> __device__ void max_points_backward(const T* g, const int* at, const int* starts, T* dx, int n) {
    int cloud = blockIdx.y;
    long long first = (long long)starts[cloud] * n, end = (long long)starts[cloud + 1] * n;
    for (long long i = first + first_element(); i < end; i += element_stride()) {
        long long of = (long long)cloud * n + i % n;
        dx[i] = at[of] == i / n ? g[of] : Rounded<T>::of(0.0f);
    }
}

#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        max_points_##NAME(const T* x, const int* starts, T* y, int* at, int n) {                                       \
        max_points(x, starts, y, at, n);                                                                               \
    }                                                                                                                  \
    extern "C" __global__ void max_points_backward_##NAME(const T* g, const int* at, const int* starts, T* dx,         \
                                                          int n) {                                                     \
        max_points_backward(g, at, starts, dx, n);                                                                     \
    }
EACH_TYPE(KERNEL)

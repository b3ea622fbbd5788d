// Batch norm and ReLU over the rows of y `[rows, n]`, the product of a linear layer (Ioffe and Szegedy 2015), forward and
// backward, as `forward.rs` and `backward.rs`. Statistics are taken in two stages: groups of rows in float, about the
// group's first row so that no digits are lost to a mean far from 0; then all groups, in order, in double.
// Bound: the statistics read y; normalising reads and writes it; the backward pass reads y and g twice and writes dy.
//
// Kernels over rows have blocks of WARP channels × DEEP rows and a grid of (channels / WARP, groups of `group` rows).
#include "values.cuh"

#define DEEP 8

struct Tile {
    int channel, first, end;
};

__device__ inline Tile tile_of(int rows, int group) {
    int from = blockIdx.y * group;
    return {(int)(blockIdx.x * WARP + threadIdx.x), from + (int)threadIdx.y, min(rows - from, group) + from};
}

// The sum of `v` over the rows of the block, in its first row of threads. No thread may have left.
__device__ inline float over_rows(float v, float (*scratch)[WARP]) {
    __syncthreads();
    scratch[threadIdx.y][threadIdx.x] = v;
    __syncthreads();
    if (threadIdx.y == 0) {
        for (int y = 1; y < DEEP; ++y) v += scratch[y][threadIdx.x];
    }
    return v;
}

// partial `[groups, 3, n]`: the group's first row, and the sums of the differences from it and of their squares.
template <typename T> __device__ void moments(const T* y, float* partial, int rows, int n, int group) {
    __shared__ float scratch[DEEP][WARP];
    Tile t = tile_of(rows, group);
    bool inside = t.channel < n;
    float near = inside ? as_float(y[(long long)blockIdx.y * group * n + t.channel]) : 0.0f;
    float sum = 0.0f, square = 0.0f;
    for (long long row = t.first; inside && row < t.end; row += DEEP) {
        float d = as_float(y[row * n + t.channel]) - near;
        sum += d;
        square += d * d;
    }
    sum = over_rows(sum, scratch);
    square = over_rows(square, scratch);
    if (threadIdx.y == 0 && inside) {
        float* out = partial + (long long)blockIdx.y * 3 * n + t.channel;
        out[0] = near;
        out[n] = sum;
        out[2 * n] = square;
    }
}

// Mean and biased variance of each channel from the groups' moments (Chan, Golub and LeVeque 1983). A thread a channel.
extern "C" __global__ void combine_moments(const float* partial, double* mean, double* var, int rows, int n, int group) {
    int channel = (int)first_element();
    if (channel >= n) return;
    int groups = (rows + group - 1) / group;
    const float* of = partial + channel;
    double sum = 0.0, squares = 0.0;
    for (int g = 0; g < groups; ++g) {
        double count = min(rows - g * group, group);
        sum += count * of[(long long)g * 3 * n] + of[((long long)g * 3 + 1) * n];
    }
    double centre = sum / rows;
    for (int g = 0; g < groups; ++g) {
        double count = min(rows - g * group, group);
        double shift = of[((long long)g * 3 + 1) * n] / count;
        double from_mean = of[(long long)g * 3 * n] + shift - centre;
        squares += of[((long long)g * 3 + 2) * n] + count * (from_mean * from_mean - shift * shift);
    }
    mean[channel] = centre;
    var[channel] = fmax(squares / rows, 0.0);
}

// What a layer needs of its statistics: x̂·γ + β = (y − mean)·scale + β, which loses no digits where the mean is large and
// the variance small. factors `[4, n]`: mean, 1/σ, scale, β.
__device__ inline void write_factors(float* factors, int n, int c, float mean, float var, float gamma, float beta,
                                     double eps) {
    double rstd = 1.0 / sqrt((double)var + eps);
    factors[c] = mean;
    factors[n + c] = (float)rstd;
    factors[2 * n + c] = (float)(gamma * rstd);
    factors[3 * n + c] = beta;
}

// In training: from the statistics of the batch, towards which it moves the running ones, with the unbiased variance. `rows`
// counts those of all ranks. A thread a channel.
extern "C" __global__ void fold_statistics(const double* mean, const double* var, const float* gamma, const float* beta,
                                           double rows, double eps, double momentum, float* factors,
                                           float* running_mean, float* running_var, int n) {
    int c = (int)first_element();
    if (c >= n) return;
    float m = (float)mean[c], v = (float)var[c];
    write_factors(factors, n, c, m, v, gamma[c], beta[c], eps);
    double unbiased = rows > 1.0 ? rows / (rows - 1.0) : 1.0;
    running_mean[c] = (float)(running_mean[c] * (1.0 - momentum) + m * momentum);
    running_var[c] = (float)(running_var[c] * (1.0 - momentum) + v * unbiased * momentum);
}

// In evaluation: from the running statistics. A thread a channel.
extern "C" __global__ void running_factors(const float* mean, const float* var, const float* gamma, const float* beta,
                                           double eps, float* factors, int n) {
    int c = (int)first_element();
    if (c < n) write_factors(factors, n, c, mean[c], var[c], gamma[c], beta[c], eps);
}

// out = (y − mean)·scale + β, then ReLU if `relu`; NaN stays NaN.
template <typename T>
__device__ void normalise(const T* y, const float* factors, T* out, int rows, int n, int group, int relu) {
    Tile t = tile_of(rows, group);
    if (t.channel >= n) return;
    float mean = factors[t.channel], scale = factors[2 * n + t.channel], beta = factors[3 * n + t.channel];
    for (long long row = t.first; row < t.end; row += DEEP) {
        float v = (as_float(y[row * n + t.channel]) - mean) * scale + beta;
        out[row * n + t.channel] = Rounded<T>::of(relu && v < 0.0f ? 0.0f : v);
    }
}

// The factors of one channel, and what the backward pass takes from them.
struct Channel {
    float mean, rstd, scale, beta;
    int relu;

    __device__ Channel(const float* factors, int n, int c, int relu)
        : mean(factors[c]), rstd(factors[n + c]), scale(factors[2 * n + c]), beta(factors[3 * n + c]), relu(relu) {}
    // The gradient behind the ReLU.
    __device__ float masked(float g, float y) const { return !relu || (y - mean) * scale + beta > 0.0f ? g : 0.0f; }
    __device__ float normal(float y) const { return (y - mean) * rstd; }
};

// partial `[groups, 2, n]`: of each group dβ = Σg and dγ = Σg·x̂, g masked by the ReLU.
template <typename T>
__device__ void backward_sums(const T* g, const T* y, const float* factors, float* partial, int rows, int n, int group,
                              int relu) {
    __shared__ float scratch[DEEP][WARP];
    Tile t = tile_of(rows, group);
    bool inside = t.channel < n;
    Channel channel(factors, n, inside ? t.channel : 0, relu);
    float beta = 0.0f, gamma = 0.0f;
    for (long long row = t.first; inside && row < t.end; row += DEEP) {
        float value = as_float(y[row * n + t.channel]);
        float masked = channel.masked(as_float(g[row * n + t.channel]), value);
        beta += masked;
        gamma += masked * channel.normal(value);
    }
    beta = over_rows(beta, scratch);
    gamma = over_rows(gamma, scratch);
    if (threadIdx.y == 0 && inside) {
        partial[(long long)blockIdx.y * 2 * n + t.channel] = beta;
        partial[((long long)blockIdx.y * 2 + 1) * n + t.channel] = gamma;
    }
}

// sums `[2, n]`: dβ and dγ, the groups added in order. A thread a channel.
extern "C" __global__ void combine_sums(const float* partial, float* sums, int groups, int n) {
    int c = (int)first_element();
    if (c >= 2 * n) return;
    double sum = 0.0;
    for (int g = 0; g < groups; ++g) sum += partial[(long long)g * 2 * n + c];
    sums[c] = (float)sum;
}

// dy = u·(g − dβ/M − x̂·dγ/M), where u is `scale` and M the rows of all ranks. sums `[2, n]` are those of all ranks.
template <typename T>
__device__ void backward(const T* g, const T* y, const float* factors, const float* sums, float inverse_rows, T* dy,
                         int rows, int n, int group, int relu) {
    Tile t = tile_of(rows, group);
    if (t.channel >= n) return;
    Channel channel(factors, n, t.channel, relu);
    float beta = sums[t.channel] * inverse_rows, gamma = sums[n + t.channel] * inverse_rows;
    for (long long row = t.first; row < t.end; row += DEEP) {
        long long i = row * n + t.channel;
        float value = as_float(y[i]), masked = channel.masked(as_float(g[i]), value);
        dy[i] = Rounded<T>::of(channel.scale * (masked - beta - channel.normal(value) * gamma));
    }
}

#define BOUNDS __launch_bounds__(WARP * DEEP)
#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void BOUNDS moments_##NAME(const T* y, float* partial, int rows, int n, int group) {         \
        moments(y, partial, rows, n, group);                                                                           \
    }                                                                                                                  \
    extern "C" __global__ void BOUNDS normalise_##NAME(const T* y, const float* factors, T* out, int rows, int n,      \
                                                       int group, int relu) {                                          \
        normalise(y, factors, out, rows, n, group, relu);                                                              \
    }                                                                                                                  \
    extern "C" __global__ void BOUNDS backward_sums_##NAME(const T* g, const T* y, const float* factors,               \
                                                           float* partial, int rows, int n, int group, int relu) {     \
        backward_sums(g, y, factors, partial, rows, n, group, relu);                                                   \
    }                                                                                                                  \
    extern "C" __global__ void BOUNDS backward_##NAME(const T* g, const T* y, const float* factors, const float* sums, \
                                                      float inverse_rows, T* dy, int rows, int n, int group,           \
                                                      int relu) {                                                      \
        backward(g, y, factors, sums, inverse_rows, dy, rows, n, group, relu);                                         \
    }
EACH_TYPE(KERNEL)

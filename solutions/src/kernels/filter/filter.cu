// The maximum of `widest_exact.cu`, bit for bit, of which only few products are computed in f32: the filter, on tensor cores.
// A `[points, k]` and W `[n, k]` are rounded to bf16, ã and w̃. With δ what rounding changed, an f32 sum x of k products
// differs from the tensor cores' sum x̃ by at most
//   ‖δa‖‖w‖ + ‖ã‖‖δw‖ + ρ‖a‖‖w‖      (Cauchy-Schwarz; ρ covers the rounding of both sums)
// The operands have TERMS more columns that carry the bound, so that the tensor cores add it: the first product gives lower
// bounds x̃ − bound, and their greatest of each cloud and channel is t. The second gives x̃ + bound − t, and only rows where
// it is not below 0 are computed in f32.
// Bound: two products in bf16; some four f32 products of 1,024 for each channel of the built-in trees.
#include "shared_mlp/product.cuh"

#define TERMS 16

// Columns of the operands for k values.
__device__ inline int width_of(int k) { return (k + 15) / 16 * 16 + TERMS; }

// ρ: tensor cores truncate, at most 2⁻²² of the sum of the magnitudes for each of the columns; that sum, with the bound and t
// in it, is below 3‖a‖‖w‖. The f32 sum loses k·2⁻²⁴‖a‖‖w‖.
__device__ inline float rounding_of(int k) { return (float)width_of(k) * (1.0f / (1 << 20)); }

// A bf16 number that is not below v, which may itself be too low by 1/1000.
__device__ inline bf16 above(float v) { return Rounded<bf16>::of(v * (1.0f + 1.0f / 128)); }

// Norms of a row's values and of what rounding changed, and the rounded values. A warp a row.
struct Norms {
    float value, change;

    __device__ Norms(const float* from, float sign, bf16* to, int k) {
        float of_values = 0.0f, of_rounded = 0.0f, of_changes = 0.0f;
        for (int d = threadIdx.x % WARP; d < (k + 15) / 16 * 16; d += WARP) {
            float v = d < k ? from[d] * sign : 0.0f;
            bf16 rounded = Rounded<bf16>::of(v);
            float r = as_float(rounded);
            to[d] = rounded;
            of_values += v * v;
            of_rounded += r * r;
            of_changes += (v - r) * (v - r);
        }
        // The floors cover what underflow loses.
        value = fmaxf(sqrtf(fmaxf(warp_sum(of_values), warp_sum(of_rounded))), 9.094947e-13f);
        change = sqrtf(warp_sum(of_changes)) + 8.6736174e-19f;
    }
};

// rows `[points, width]`: ã, then ‖δa‖ + ρ‖a‖, ‖a‖, and three ones.
extern "C" __global__ void __launch_bounds__(256) filter_rows(const float* a, bf16* rows, int points, int k) {
    int lane = threadIdx.x % WARP, width = width_of(k);
    long long row = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP;
    if (row >= points) return;
    bf16* to = rows + row * width;
    Norms norms(a + row * k, 1.0f, to, k);
    float terms[] = {norms.change + rounding_of(k) * norms.value, norms.value};
    if (lane < TERMS) {
        bf16 term = Rounded<bf16>::of(lane < 5 ? 1.0f : 0.0f);
        if (lane < 2) term = above(lane == 0 ? terms[0] : terms[1]);
        to[width - TERMS + lane] = term;
    }
}

// lower and upper `[n, width]`: w̃ times the sign of γ, then ∓‖w‖ and ∓‖δw‖; t is put in by filter_candidates.
extern "C" __global__ void __launch_bounds__(256)
    filter_channels(const float* w, const float* gamma, bf16* lower, bf16* upper, int n, int k) {
    int lane = threadIdx.x % WARP, width = width_of(k);
    long long c = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP;
    if (c >= n) return;
    Norms norms(w + c * k, sign_of(gamma[c]), lower + c * width, k);
    for (int d = lane; d < width - TERMS; d += WARP) upper[c * width + d] = lower[c * width + d];
    if (lane < TERMS) {
        float term = lane < 2 ? as_float(above(lane == 0 ? norms.value : norms.change)) : 0.0f;
        lower[c * width + width - TERMS + lane] = Rounded<bf16>::of(-term);
        upper[c * width + width - TERMS + lane] = Rounded<bf16>::of(term);
    }
}

struct Candidate {
    int row, channel, cloud;
};

// Lists the places of a tile that are not below 0. If the list is full, only their number grows.
struct Listed {
    float (*scratch)[256];
    Candidate* list;
    unsigned *count, capacity;
    Rows rows;
    int n;

    __device__ void operator()(int tile, int i, int j, const Sums<bf16>::Fragment& sums) {
        bool any = false;
        for (int e = 0; e < sums.num_elements; ++e) any |= !(sums.x[e] < 0.0f);
        if (!__any_sync(ALL_LANES, any)) return;
        int lane = threadIdx.x % WARP, channel = blockIdx.x * CHANNELS + warp_channel() + j * 16 + lane % 16;
        float* values = scratch[threadIdx.x / WARP];
        wmma::store_matrix_sync(values, sums, 16, wmma::mem_row_major);
        __syncwarp();
        for (int r = lane / 16 * 8; r < lane / 16 * 8 + 8; ++r) {
            int row = rows.from + tile * ROWS + warp_row() + i * 16 + r;
            if (values[r * 16 + lane % 16] < 0.0f || row >= rows.end || channel >= n) continue;
            unsigned at = atomicAdd(count, 1u);
            if (at < capacity) list[at] = {row, channel, (int)blockIdx.y};
        }
        __syncwarp();
    }
};

// `bounds` are the keys of widest_bf16 of rows and lower. Grid, block and shared memory as for it.
extern "C" __global__ void __launch_bounds__(WARPS * WARP)
    filter_candidates(const bf16* a, const bf16* upper, const Key* bounds, const int* starts, Candidate* list, unsigned* count,
                      unsigned capacity, int n, int width, int parts) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ float scratch[WARPS][256];
    int w_step = Sizes<bf16>::weight_step(width), depth = w_step - Sizes<bf16>::SKEW;
    bf16* weights = (bf16*)memory;
    Rows rows = part_of(starts, blockIdx.y, blockIdx.z, parts, ROWS);
    if (rows.from >= rows.end) return;
    for (int i = threadIdx.x; i < CHANNELS * depth; i += blockDim.x) {
        int c = i / depth, d = i % depth, channel = blockIdx.x * CHANNELS + c;
        bf16 v = channel < n && d < width ? upper[(long long)channel * width + d] : Rounded<bf16>::of(0.0f);
        int piece = d - (width - TERMS + 2);
        if (channel < n && piece >= 0 && piece < 3) {
            // Three bf16 numbers hold the 24 bits of t.
            float rest = -value_of(bounds[(long long)blockIdx.y * n + channel]);
            for (int p = 0; p <= piece; ++p) {
                v = Rounded<bf16>::of(rest);
                rest -= as_float(v);
            }
        }
        weights[c * w_step + d] = v;
    }
    Listed listed = {scratch, list, count, capacity, rows, n};
    each_product(a, width, rows, weights, weights + CHANNELS * w_step, listed);
}

// The candidates' products in f32, in the order of widest_f32, into the keys `[clouds, n]`. If there are more than fit, it
// does nothing, and widest_f32, launched next with the same count, computes all.
extern "C" __global__ void __launch_bounds__(128)
    filter_exact(const Candidate* list, const unsigned* count, unsigned capacity, const float* a, const float* w,
                 const float* gamma, Key* keys, int n, int k) {
    if (*count > capacity) return;
    for (long long i = first_element(); i < *count; i += element_stride()) {
        Candidate c = list[i];
        float sign = sign_of(gamma[c.channel]), sum = 0.0f;
        const float *row = a + (long long)c.row * k, *column = w + (long long)c.channel * k;
        for (int d = 0; d < k; ++d) sum = fmaf(row[d], column[d] * sign, sum);
        atomicMax(&keys[(long long)c.cloud * n + c.channel], key_of(sum, c.row));
    }
}

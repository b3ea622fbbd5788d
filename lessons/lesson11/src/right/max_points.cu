// Right answers to 11.4 that are written differently.
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#define LESS(V, R, TOP, ROW) ((V) > (TOP) || (isnan(V) && !isnan(TOP)) || (((V) == (TOP) || (isnan(V) && isnan(TOP))) && (R) < (ROW)))

struct Best {
    float top;
    int row;
};

extern "C" __global__ void max_points(const float* x, const int* starts, float* y, int* at, int n) {
    int channel = blockIdx.x * 32 + threadIdx.x, cloud = blockIdx.y, t = threadIdx.y;
#if WAY == 1 // A tree over the eight; each thread has a contiguous part of the points.
    __shared__ float tops[8 * 32];
    __shared__ int rows[8 * 32];
    int begin = starts[cloud], count = starts[cloud + 1] - begin, part = (count + 7) / 8, own = t * 32 + threadIdx.x;
    float top = -INFINITY;
    int row = 0x7fffffff;
    for (int r = begin + t * part; r < begin + min((t + 1) * part, count); ++r) {
        if (channel < n && LESS(x[r * n + channel], r, top, row)) top = x[r * n + channel], row = r;
    }
    tops[own] = top;
    rows[own] = row;
    for (int step = 4; step > 0; step /= 2) {
        __syncthreads();
        if (t < step && LESS(tops[own + 32 * step], rows[own + 32 * step], tops[own], rows[own])) {
            tops[own] = tops[own + 32 * step];
            rows[own] = rows[own + 32 * step];
        }
    }
    if (t == 0 && channel < n) {
        y[cloud * n + channel] = tops[own];
        at[cloud * n + channel] = rows[own];
    }
#elif WAY == 2 // The last thread of a channel combines; it begins with the first point.
    __shared__ Best best[8][33];
    int c = min(channel, n - 1), row = starts[cloud];
    float top = x[row * n + c];
    for (int r = row + t; r < starts[cloud + 1]; r += blockDim.y) {
        float v = x[r * n + c];
        if (v > top || (isnan(v) && !isnan(top))) top = v, row = r;
    }
    best[t][threadIdx.x].top = top;
    best[t][threadIdx.x].row = row;
    __syncthreads();
    if (t != 7 || channel >= n) return;
    for (int k = 6; k >= 0; --k) {
        float v = best[k][threadIdx.x].top;
        int r = best[k][threadIdx.x].row;
        if (LESS(v, r, top, row)) top = v, row = r;
    }
    y[cloud * n + channel] = top;
    at[cloud * n + channel] = row;
#endif
}

// Sum of each row of x `[rows, n]`, a warp a row; y `[rows]`.
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
    return v;
}

extern "C" __global__ void warp_sum_rows(const float* __restrict__ x, float* __restrict__ y, int rows, int n) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) sum += x[row * n + i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) y[row] = sum;
}

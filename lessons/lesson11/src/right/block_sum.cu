// Right answers to 11.3 that are written differently.
extern "C" __global__ void block_sum(const float* x, float* y, int n) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float sum = 0.0f;
    if (i < n) sum = x[i];
#if WAY == 1 // Shuffles in a warp, then the sums of the warps.
    __shared__ float sums[32];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < blockDim.x / 32 ? sums[t] : 0.0f;
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (t == 0) y[blockIdx.x] = sum;
    }
#elif WAY == 2 // Neighbours first.
    extern __shared__ float sums[];
    sums[t] = sum;
    for (int step = 1; step < blockDim.x; step *= 2) {
        __syncthreads();
        if (t % (2 * step) == 0) sums[t] += sums[t + step];
    }
    if (t == 0) y[blockIdx.x] = sums[0];
#elif WAY == 3 // The sum of each thread stays in a register.
    __shared__ float sums[1024];
    sums[t] = sum;
    __syncthreads();
    for (unsigned step = blockDim.x >> 1; step; step >>= 1) {
        if (t < step) {
            sum += sums[t + step];
            sums[t] = sum;
        }
        __syncthreads();
    }
    if (!t) y[blockIdx.x] = sum;
#elif WAY == 4 // One atomic a warp.
    __shared__ float total;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (t == 0) total = 0.0f;
    __syncthreads();
    if (t % 32 == 0) atomicAdd(&total, sum);
    __syncthreads();
    if (t == 0) y[blockIdx.x] = total;
#endif
}

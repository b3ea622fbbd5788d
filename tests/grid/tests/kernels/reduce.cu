// Sum of each block's part of x `[n]`, by halves in shared memory; y `[blocks]`.
extern "C" __global__ void __launch_bounds__(256) reduce(const float* x, float* y, int n) {
    __shared__ float sums[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
        __syncthreads(); // end of step
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}

// Right answers to 11.1 that are written differently.
extern "C" __global__ void map(const float* x, float* y, float a, float b, int n) {
#if WAY == 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = fmaf(a, x[i], b);
    }
#elif WAY == 2
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n) return;
    y[i] = b + x[i] * a;
#endif
}

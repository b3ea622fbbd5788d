// y `[n]` = factor · x, four values at once.
__constant__ float FACTOR = 2.0f;

extern "C" __global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        reinterpret_cast<float4*>(y)[i] = make_float4(FACTOR * v.x, FACTOR * v.y, FACTOR * v.z, FACTOR * v.w);
    }
    if (i < n % 4) y[n - 1 - i] = FACTOR * x[n - 1 - i];
}

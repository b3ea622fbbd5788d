// The kernel that the book shows (book/src/what-a-gpu-is.md). x and y `[n]`.
// ANCHOR: relu
extern "C" __global__ void relu(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = fmaxf(x[i], 0.0f);
    }
}
// ANCHOR_END: relu

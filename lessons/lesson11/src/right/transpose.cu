// Right answers to 11.5 that are written differently.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
#if WAY == 1 // Exchanged columns (XOR) instead of padding.
    __shared__ float tile[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, c = blockIdx.x * 32 + tx, r = blockIdx.y * 32 + ty;
    if (r < rows && c < columns) tile[ty][tx ^ ty] = x[r * columns + c];
    __syncthreads();
    c = blockIdx.x * 32 + ty, r = blockIdx.y * 32 + tx;
    if (r < rows && c < columns) y[c * rows + r] = tile[tx][tx ^ ty];
#elif WAY == 2 // Rows and columns exchanged when the tile is written.
    __shared__ float tile[32 * 33];
    int x0 = blockIdx.x * blockDim.x, y0 = blockIdx.y * blockDim.y;
    float v = 0.0f;
    if (x0 + threadIdx.x < columns && y0 + threadIdx.y < rows) {
        v = x[(long long)(y0 + threadIdx.y) * columns + x0 + threadIdx.x];
    }
    tile[threadIdx.x * 33 + threadIdx.y] = v;
    __syncthreads();
    v = tile[threadIdx.y * 33 + threadIdx.x];
    if (y0 + threadIdx.x >= rows || x0 + threadIdx.y >= columns) return;
    y[(long long)(x0 + threadIdx.y) * rows + y0 + threadIdx.x] = v;
#elif WAY == 3 // Each row rotated by its number.
    __shared__ float tile[32][32];
    unsigned tx = threadIdx.x, ty = threadIdx.y, c = 32 * blockIdx.x + tx, r = 32 * blockIdx.y + ty;
    tile[ty][(tx + ty) % 32] = r < rows && c < columns ? x[r * columns + c] : 0.0f;
    __syncthreads();
    c = 32 * blockIdx.x + ty, r = 32 * blockIdx.y + tx;
    if (r < rows && c < columns) y[c * rows + r] = tile[tx][(ty + tx) % 32];
#endif
}

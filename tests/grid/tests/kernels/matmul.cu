// c `[m, n]` = a `[m, k]` · b `[k, n]`, by tiles in shared memory.
#define TILE 16

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int from = 0; from < k; from += TILE) {
        int ka = from + threadIdx.x, kb = from + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
        bs[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[kb * n + column] : 0.0f;
        __syncthreads(); // the tiles are complete
        for (int i = 0; i < TILE; ++i) sum = fmaf(as[threadIdx.y][i], bs[i][threadIdx.x], sum);
        __syncthreads(); // nobody reads them any more
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

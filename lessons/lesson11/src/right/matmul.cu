// Right answers to 11.6 that are written differently.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
#if WAY == 1 // The tile of b is stored with rows and columns exchanged, and rows are padded.
    __shared__ float left[16][17], right[16][17];
    float sum = 0.0f;
    for (int tile = 0; tile < (k + 15) / 16; ++tile) {
        int ka = tile * 16 + threadIdx.x, kb = tile * 16 + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
        right[threadIdx.x][threadIdx.y] = kb < k && column < n ? b[kb * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i) sum = fmaf(left[threadIdx.y][i], right[threadIdx.x][i], sum);
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
#elif WAY == 2 // Two tiles in turn, so that one barrier a tile suffices; the last tile ends where k does.
    __shared__ float left[2][16][16], right[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, turn = 0;
    float sum = 0.0f;
    for (int from = 0; from < k; from += 16, turn ^= 1) {
        if (row < m && from + x < k) left[turn][y][x] = a[row * k + from + x];
        if (from + y < k && column < n) right[turn][y][x] = b[(from + y) * n + column];
        __syncthreads();
        int count = min(16, k - from);
        if (row < m && column < n) {
            for (int i = 0; i < count; ++i) sum += left[turn][y][i] * right[turn][i][x];
        }
    }
    if (row < m && column < n) c[row * n + column] = sum;
#elif WAY == 3 // The first half of the block loads a, the second half loads b.
    __shared__ float as[256], bs[256];
    int t = threadIdx.y * 16 + threadIdx.x;
    double sum = 0.0;
    for (int from = 0; from < k; from += 16) {
        for (int i = t % 128; i < 256; i += 128) {
            int r = blockIdx.y * 16 + i / 16, j = from + i % 16, l = from + i / 16, q = blockIdx.x * 16 + i % 16;
            if (t < 128) as[i] = r < m && j < k ? a[r * k + j] : 0.0f;
            if (t >= 128) bs[i] = l < k && q < n ? b[l * n + q] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += (double)as[threadIdx.y * 16 + i] * bs[i * 16 + threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = (float)sum;
#endif
}

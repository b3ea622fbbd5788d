// Kernels that the experiment of lesson 11 compares with those of the exercises.

// c `[m, n]` = a `[m, k]` · b `[k, n]`: a thread reads a whole row and a whole column from global memory.
extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum = fmaf(a[row * k + i], b[i * n + column], sum);
    c[row * n + column] = sum;
}

// y `[columns, rows]` = the transpose of x `[rows, columns]`, without shared memory.
extern "C" __global__ void transpose_naive(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && column < columns) y[column * rows + row] = x[row * columns + column];
}

// The same through shared memory, in a tile without padding.
extern "C" __global__ void transpose_no_padding(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[32][32];
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
    __syncthreads();
    row = blockIdx.x * 32 + threadIdx.y, column = blockIdx.y * 32 + threadIdx.x;
    if (row < columns && column < rows) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}

// Bias, batch norm in evaluation (a scale and a shift) and ReLU over a matrix `[rows, columns]`, as three kernels and as one.
#define AT(i, column)                                                                                                  \
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;                   \
    if (row >= rows || column >= columns) return;                                                                      \
    int i = row * columns + column

extern "C" __global__ void bias(const float* x, const float* b, float* y, int rows, int columns) {
    AT(i, column);
    y[i] = x[i] + b[column];
}

extern "C" __global__ void batch_norm(const float* x, const float* scale, const float* shift, float* y, int rows, int columns) {
    AT(i, column);
    y[i] = x[i] * scale[column] + shift[column];
}

extern "C" __global__ void relu(const float* x, float* y, int rows, int columns) {
    AT(i, column);
    y[i] = fmaxf(x[i], 0.0f);
}

extern "C" __global__ void fused(const float* x, const float* b, const float* scale, const float* shift, float* y, int rows,
                                 int columns) {
    AT(i, column);
    y[i] = fmaxf((x[i] + b[column]) * scale[column] + shift[column], 0.0f);
}

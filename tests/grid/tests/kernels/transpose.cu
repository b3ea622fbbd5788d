// y `[columns, rows]` = the transpose of x `[rows, columns]`, through dynamic shared memory of 16 × 17 floats.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
    extern __shared__ float tile[];
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < rows && column < columns) tile[threadIdx.y * 17 + threadIdx.x] = x[row * columns + column];
    __syncthreads();
    column = blockIdx.y * 16 + threadIdx.x, row = blockIdx.x * 16 + threadIdx.y;
    if (row < columns && column < rows) y[row * rows + column] = tile[threadIdx.x * 17 + threadIdx.y];
}

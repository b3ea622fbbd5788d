// The right answer to 11.2.
extern "C" __global__ void bias_relu(const float* x, const float* bias, float* y, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        int i = row * columns + column;
        y[i] = fmaxf(x[i] + bias[column], 0.0f);
    }
}

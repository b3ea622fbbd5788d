/// Writes `y[r, c] = max(x[r, c] + bias[c], 0)`. x and y are `[rows, columns]`, row-major, and bias is `[columns]`.
///
/// Launch: blocks of 32 × 8 threads. The grid covers the columns along x and the rows along y, and may reach beyond both.
/// A warp's access to x or y is coalesced: it touches the fewest 32-byte sectors that can hold its values.
extern "C" __global__ void bias_relu(const float* x, const float* bias, float* y, int rows, int columns) {
    // TODO 11.2: a row, a column, a guard for each, one line
}

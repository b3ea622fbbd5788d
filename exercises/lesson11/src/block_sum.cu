/// Writes the sum of each block's values: `y[b] = Σ x[i]` over `b·blockDim.x ≤ i < (b + 1)·blockDim.x` and i below n.
///
/// Launch: one dimension. The block size is a power of two, at least 32, with one float of dynamic shared memory for
/// each thread. No thread of a block of 256 reads more than 64 values.
extern "C" __global__ void block_sum(const float* x, float* y, int n) {
    extern __shared__ float sums[];
    // TODO 11.3: one value a thread, then halve the number of threads that add
}

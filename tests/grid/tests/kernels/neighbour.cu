// y[i] = x[i] + the next value in the same group of 32, through shared memory; one warp a block.
extern "C" __global__ void neighbour(const int* x, int* y, int n) {
    __shared__ int values[32];
    int lane = threadIdx.x, i = blockIdx.x * 32 + lane;
    values[lane] = i < n ? x[i] : 0;
    __syncwarp();
    int next = values[(lane + 1) % 32];
    unsigned inside = __ballot_sync(0xffffffffu, i < n);
    if (i < n) {
        int largest = __reduce_max_sync(inside, x[i]);
        y[i] = x[i] + next + 1000 * (largest == x[i]) + __popc(inside);
    }
}

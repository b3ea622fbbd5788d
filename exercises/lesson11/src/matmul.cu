/// Writes c = a·b, `[m, k]` × `[k, n]`, row-major, for any m, n and k.
///
/// Launch: blocks of 16 × 16 threads; grid `(⌈n/16⌉, ⌈m/16⌉)`. No block reads a value from global memory twice.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    // TODO 11.6: for each tile of k: load, wait, add products, wait
}

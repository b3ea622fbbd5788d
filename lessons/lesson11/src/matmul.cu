/// Writes the matrix product c = a·b for any m, n and k. a is `[m, k]`, b is `[k, n]`, c is `[m, n]`, all row-major.
///
/// Launch: blocks of 16 × 16 threads, one for each tile of c; grid `(⌈n/16⌉, ⌈m/16⌉)`. A block reads no value of a or b
/// from global memory twice.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    // TODO 11.6: for each tile of k: load, wait, add products, wait
}

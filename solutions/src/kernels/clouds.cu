// Rows of a matrix gathered by their index, as `without_padding` of `clouds.rs` takes the real points out of a padded batch.
// x `[…, k]`, index `[rows]` → y `[rows, k]`; an index below 0 gives zeros. The backward pass is the same kernel: the index
// of a padded row is then its place among the real ones, or -1.
// Bound: one read and one write of each value.
#include "values.cuh"

template <typename T> __device__ void gather_rows(const T* x, const int* index, T* y, long long rows, int k) {
    for (long long i = first_element(); i < rows * k; i += element_stride()) {
        long long row = index[i / k];
        y[i] = row < 0 ? Rounded<T>::of(0.0f) : x[row * k + i % k];
    }
}

#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void gather_rows_##NAME(const T* x, const int* index, T* y, long long rows, int k) {         \
        gather_rows(x, index, y, rows, k);                                                                             \
    }
EACH_TYPE(KERNEL)

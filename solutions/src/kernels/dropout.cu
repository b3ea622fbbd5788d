// Dropout (Srivastava et al. 2014) with the mask of `dropout.rs`: a function of (key, stream, element) by Philox. Forward
// and backward are the same kernel. x, y `[rows, width]`.
// Bound: one read and one write of each element.
#include "philox.cuh"
#include "values.cuh"

// Row `own` of this rank is row rank + own·world of the whole batch. A thread takes the elements of one draw of four.
// The threshold is compared in float, as on the CPU.
template <typename T>
__device__ void dropped(const T* x, T* y, int rows, int width, float p, unsigned long long key, unsigned long long stream,
                        int rank, int world) {
    float scale = 1.0f / (1.0f - p);
    long long draws = (width + 3LL) / 4 + 1;
    for (long long i = first_element(); i < rows * draws; i += element_stride()) {
        long long own = i / draws;
        long long start = (rank + own * world) * width;
        long long counter = start / 4 + i % draws;
        Four bits = philox(key, stream, (unsigned long long)counter);
        for (int j = 0; j < 4; ++j) {
            long long column = counter * 4 + j - start;
            if (column < 0 || column >= width) continue;
            float uniform = (float)(bits.v[j] >> 8) * (1.0f / 16777216.0f);
            long long at = own * width + column;
            y[at] = Rounded<T>::of(uniform < p ? as_float(x[at]) * 0.0f : as_float(x[at]) * scale);
        }
    }
}

#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void dropout_##NAME(const T* x, T* y, int rows, int width, float p, unsigned long long key,  \
                                              unsigned long long stream, int rank, int world) {                        \
        dropped(x, y, rows, width, p, key, stream, rank, world);                                                       \
    }
EACH_TYPE(KERNEL)

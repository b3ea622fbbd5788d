// From the keys of the widest layer's maximum to its output, and what its backward pass needs (`widest.rs`): out, xhat (the
// normalised value at the arg-max) and at (its row), all `[clouds, n]`. factors `[4, n]` are those of fold_statistics.
// Bound: latency; one value for each cloud and channel.
#include "greatest.cuh"

template <typename T>
__device__ void output(const Key* keys, const T* a, const T* w, const float* factors, const float* gamma, const float* beta,
                       T* out, float* xhat, int* at, int clouds, int n, int k, int relu) {
    for (long long i = first_element(); i < (long long)clouds * n; i += element_stride()) {
        int c = (int)(i % n), row = row_of(keys[i]);
        float v = value_of(keys[i]);
        if (gamma[c] < 0.0f) v = -v;
        if (gamma[c] == 0.0f) {
            v = 0.0f;
            for (int j = 0; j < k; ++j) v += as_float(a[(long long)row * k + j]) * as_float(w[(long long)c * k + j]);
        }
        float normal = (v - factors[c]) * factors[n + c];
        float y = normal * gamma[c] + beta[c];
        at[i] = row;
        xhat[i] = normal;
        out[i] = Rounded<T>::of(relu && y < 0.0f ? 0.0f : y);
    }
}

#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void widest_output_##NAME(const Key* keys, const T* a, const T* w, const float* factors,     \
                                                    const float* gamma, const float* beta, T* out, float* xhat,       \
                                                    int* at, int clouds, int n, int k, int relu) {                     \
        output(keys, a, w, factors, gamma, beta, out, xhat, at, clouds, n, k, relu);                                   \
    }
EACH_TYPE(KERNEL)

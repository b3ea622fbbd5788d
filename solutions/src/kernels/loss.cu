// Mean cross-entropy with label smoothing and class weights, with its gradient, in one launch of one block (`loss.rs`).
// logits `[rows, classes]`, labels `[rows]`, weights `[classes]` or null; loss `[1]`, gradient `[rows, classes]` for a loss
// gradient of 1. A label that is not a class makes the loss NaN: a kernel cannot return an error.
// Bound: latency; a batch's logits are a few hundred KiB at most.
#include "values.cuh"

// A warp takes a row.
template <typename T>
__device__ void cross_entropy(const T* logits, const unsigned* labels, const float* weights, float smoothing, float* loss,
                              T* gradient, int rows, int classes) {
    __shared__ double scratch[WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;

    double of_labels = 0.0, of_classes = 0.0;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) {
        if (labels[r] >= (unsigned)classes) of_labels += (double)NAN;
        else of_labels += weights ? weights[labels[r]] : 1.0f;
    }
    for (int c = threadIdx.x; c < classes; c += blockDim.x) of_classes += weights ? weights[c] : 1.0f;
    double total = block_sum(of_labels, scratch);
    float all = (float)block_sum(of_classes, scratch);

    double own = 0.0;
    for (int r = warp; r < rows; r += warps) {
        const T* row = logits + (long long)r * classes;
        int label = labels[r] < (unsigned)classes ? (int)labels[r] : 0;
        float top = -INFINITY;
        for (int c = lane; c < classes; c += WARP) top = fmaxf(top, as_float(row[c]));
        top = warp_max(top);
        float sum = 0.0f;
        for (int c = lane; c < classes; c += WARP) sum += expf(as_float(row[c]) - top);
        float log_sum = logf(warp_sum(sum));
        float hit = (1.0f - smoothing) * (weights ? weights[label] : 1.0f), spread = smoothing / classes;
        for (int c = lane; c < classes; c += WARP) {
            float log_p = as_float(row[c]) - top - log_sum;
            float target = spread * (weights ? weights[c] : 1.0f) + (c == label ? hit : 0.0f);
            own -= (double)target * log_p;
            float slope = expf(log_p) * (hit + spread * all) - target;
            gradient[(long long)r * classes + c] = Rounded<T>::of((float)(slope / total));
        }
    }
    own = block_sum(own, scratch);
    if (threadIdx.x == 0) *loss = (float)(own / total);
}

#define KERNEL(T, NAME)                                                                                               \
    extern "C" __global__ void __launch_bounds__(1024)                                                                 \
        cross_entropy_##NAME(const T* logits, const unsigned* labels, const float* weights, float smoothing,           \
                             float* loss, T* gradient, int rows, int classes) {                                        \
        cross_entropy(logits, labels, weights, smoothing, loss, gradient, rows, classes);                              \
    }
EACH_TYPE(KERNEL)

// Unscaling, found_inf, the norm of all gradients and the factor that clips them, in one launch for TENSORS of them (`multi_tensor.rs`,
// precision/scaler.rs, optim/clip.rs). Nothing waits for the result: scale_gradients reads it on the device.
// result `[3]`: the norm of the unscaled gradients; 1 if a gradient is infinite or NaN; what every gradient
// has to be multiplied by. max_norm 0: not clipped. A launch has one block for each of its pieces, all launches together have
// `pieces_of_all`; `partial` `[pieces_of_all]`, and `*arrived` is 0 before the first and after the last.
// Bound: one read of each gradient.
#include "multi_tensor.cuh"

extern "C" __global__ void __launch_bounds__(256)
    unscale_and_norm(const __grid_constant__ Tensors tensors, const Piece* pieces, float inverse_scale, float max_norm,
                     unsigned pieces_of_all, double* partial, unsigned* arrived, float* result) {
    __shared__ double scratch[WARP];
    __shared__ int last;
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors.of[piece.tensor];
    Range range = range_of(piece, p);
    double squares = 0.0;
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        float g = p.g[i] * inverse_scale;
        squares += (double)g * g;
    }
    squares = block_sum(squares, scratch);
    if (threadIdx.x == 0) {
        partial[piece.place] = squares;
        __threadfence();
        last = atomicAdd(arrived, 1u) == pieces_of_all - 1;
    }
    __syncthreads();
    if (!last) return;

    // The last block to arrive adds the pieces, always in the same order.
    __threadfence();
    double sum = 0.0;
    for (unsigned i = threadIdx.x; i < pieces_of_all; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0) {
        // The square of no float overflows a double, so the sum is finite exactly if every gradient is.
        float norm = (float)sqrt(sum);
        // NaN stays NaN, as on the CPU: then all gradients become NaN.
        float ratio = max_norm > 0.0f ? max_norm / (norm + 1e-6f) : 1.0f, clip = ratio >= 1.0f ? 1.0f : ratio;
        result[0] = norm;
        result[1] = sum <= 1.7976931348623157e308 ? 0.0f : 1.0f;
        result[2] = clip * inverse_scale;
        *arrived = 0;
    }
}

// m = g times the factor that unscale_and_norm left.
extern "C" __global__ void __launch_bounds__(256)
    scale_gradients(const __grid_constant__ Tensors tensors, const Piece* pieces, const float* result) {
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors.of[piece.tensor];
    Range range = range_of(piece, p);
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) p.m[i] = p.g[i] * result[2];
}

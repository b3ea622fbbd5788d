// Steps of Adam and AdamW, SGD and LAMB over all parameters in one launch (LAMB: two), as `multi_tensor.rs`. A launch has
// one block for each piece. The skipping of a step, the gradients' factor and Adam's bias corrections are read on the
// device, so that nothing waits and the step can be captured in a CUDA graph.
// Without fused multiply-add the weights are bit-identical to those of the CPU.
// nvrtc: --fmad=false
// Bound: Adam reads four and writes three values of each weight.
#include "multi_tensor.cuh"

// `AdamFactors` of adam_step.rs.
struct AdamFactors {
    float lr, size, first, root, keep1, beta2, keep2, eps, shrink, decay, gradient;
    // Not 0: a gradient overflowed, and nothing changes.
    float skip;
};

// The factors of the next step, and its number. `result` is that of unscale_and_norm, or null. One thread.
extern "C" __global__ void adam_factors(double lr, double beta1, double beta2, double eps, double weight_decay,
                                        int decoupled, const float* result, unsigned long long* step, AdamFactors* f) {
    f->skip = result ? result[1] : 0.0f;
    f->gradient = result ? result[2] : 1.0f;
    if (f->skip != 0.0f) return;
    double t = (double)++*step;
    double first = 1.0 - pow(beta1, t);
    f->lr = (float)lr;
    f->size = (float)(lr / first);
    f->first = (float)first;
    f->root = (float)sqrt(1.0 - pow(beta2, t));
    f->keep1 = (float)(1.0 - beta1);
    f->beta2 = (float)beta2;
    f->keep2 = (float)(1.0 - beta2);
    f->eps = (float)eps;
    f->shrink = decoupled ? (float)(1.0 - lr * weight_decay) : 1.0f;
    f->decay = decoupled ? 0.0f : (float)weight_decay;
}

extern "C" __global__ void __launch_bounds__(256) adam(const Parameter* tensors, const Piece* pieces, const AdamFactors* at) {
    AdamFactors f = *at;
    if (f.skip != 0.0f) return;
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors[piece.tensor];
    Range range = range_of(piece, p);
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        float w = p.w[i], m = p.m[i], v = p.v[i];
        float g = p.g[i] * f.gradient + w * f.decay;
        m += (g - m) * f.keep1;
        v = v * f.beta2 + g * g * f.keep2;
        p.m[i] = m;
        p.v[i] = v;
        p.w[i] = w * f.shrink - m / (sqrtf(v) / f.root + f.eps) * f.size;
    }
}

// The velocity is `m`. `result` is that of unscale_and_norm, or null.
extern "C" __global__ void __launch_bounds__(256)
    sgd(const Parameter* tensors, const Piece* pieces, float lr, float momentum, float decay, int nesterov,
        const float* result) {
    if (result && result[1] != 0.0f) return;
    float factor = result ? result[2] : 1.0f;
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors[piece.tensor];
    Range range = range_of(piece, p);
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        float w = p.w[i];
        float g = p.g[i] * factor + w * decay;
        float kept = p.m[i] * momentum + g;
        p.m[i] = kept;
        p.w[i] = w - (nesterov ? g + kept * momentum : kept) * lr;
    }
}

// m̂/(√v̂ + ε) + λw.
__device__ inline float lamb_direction(float w, float m, float v, const AdamFactors& f) {
    return (m / f.first) / (sqrtf(v) / f.root + f.eps) + f.decay * w;
}

// LAMB's moments, and for each piece the sums of squares of its weights and of their direction; sums `[pieces, 2]`.
extern "C" __global__ void __launch_bounds__(256)
    lamb_moments(const Parameter* tensors, const Piece* pieces, const AdamFactors* at, double* sums) {
    __shared__ double scratch[WARP];
    AdamFactors f = *at;
    if (f.skip != 0.0f) return;
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors[piece.tensor];
    Range range = range_of(piece, p);
    double weights = 0.0, directions = 0.0;
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        float w = p.w[i], m = p.m[i], v = p.v[i];
        float g = p.g[i] * f.gradient;
        m += (g - m) * f.keep1;
        v = v * f.beta2 + g * g * f.keep2;
        p.m[i] = m;
        p.v[i] = v;
        float r = lamb_direction(w, m, v, f);
        weights += (double)w * w;
        directions += (double)r * r;
    }
    weights = block_sum(weights, scratch);
    directions = block_sum(directions, scratch);
    if (threadIdx.x == 0) {
        sums[2 * blockIdx.x] = weights;
        sums[2 * blockIdx.x + 1] = directions;
    }
}

// LAMB's step: each tensor's own is scaled by ‖w‖/‖direction‖, or by 1 if either is 0.
extern "C" __global__ void __launch_bounds__(256)
    lamb_apply(const Parameter* tensors, const Piece* pieces, const AdamFactors* at, const double* sums) {
    __shared__ double scratch[WARP];
    AdamFactors f = *at;
    if (f.skip != 0.0f) return;
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors[piece.tensor];
    Range range = range_of(piece, p);
    // The pieces of a tensor follow each other.
    unsigned long long first = blockIdx.x - piece.index, end = first + (p.n + PIECE - 1) / PIECE;
    double weights = 0.0, directions = 0.0;
    for (unsigned long long i = first + threadIdx.x; i < end; i += blockDim.x) {
        weights += sums[2 * i];
        directions += sums[2 * i + 1];
    }
    weights = block_sum(weights, scratch);
    directions = block_sum(directions, scratch);
    float size = f.lr * (weights > 0.0 && directions > 0.0 ? (float)sqrt(weights / directions) : 1.0f);
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        p.w[i] -= size * lamb_direction(p.w[i], p.m[i], p.v[i], f);
    }
}

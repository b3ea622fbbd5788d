// Steps of Adam and AdamW, SGD, LAMB and LARS over all parameters in one launch for TENSORS of them (LAMB and LARS: two), as
// `multi_tensor.rs`. A launch has one block for each piece. Learning rate and number of the step are parameters of the launch.
// Without fused multiply-add the weights are bit-identical to those of the CPU.
// nvrtc: --fmad=false
// Bound: Adam reads four and writes three values of each weight.
#include "multi_tensor.cuh"

// `AdamFactors` of steps.rs.
struct AdamFactors {
    float lr, size, first, root, keep1, beta2, keep2, eps, shrink, decay;
};

// The factors of step `step`, which begins at 1. One thread.
extern "C" __global__ void adam_factors(double lr, double beta1, double beta2, double eps, double weight_decay,
                                        int decoupled, unsigned long long step, AdamFactors* f) {
    double t = (double)step;
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

extern "C" __global__ void __launch_bounds__(256) adam(const __grid_constant__ Tensors tensors, const Piece* pieces, const AdamFactors* at) {
    AdamFactors f = *at;
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors.of[piece.tensor];
    Range range = range_of(piece, p);
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        float w = p.w[i], m = p.m[i], v = p.v[i];
        float g = p.g[i] + w * f.decay;
        m += (g - m) * f.keep1;
        v = v * f.beta2 + g * g * f.keep2;
        p.m[i] = m;
        p.v[i] = v;
        p.w[i] = w * f.shrink - m / (sqrtf(v) / f.root + f.eps) * f.size;
    }
}

// The velocity is `m`.
extern "C" __global__ void __launch_bounds__(256)
    sgd(const __grid_constant__ Tensors tensors, const Piece* pieces, float lr, float momentum, float decay, int nesterov) {
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors.of[piece.tensor];
    Range range = range_of(piece, p);
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        float w = p.w[i];
        float g = p.g[i] + w * decay;
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
    lamb_moments(const __grid_constant__ Tensors tensors, const Piece* pieces, const AdamFactors* at, double* sums) {
    __shared__ double scratch[WARP];
    AdamFactors f = *at;
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors.of[piece.tensor];
    Range range = range_of(piece, p);
    double weights = 0.0, directions = 0.0;
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        float w = p.w[i], m = p.m[i], v = p.v[i];
        float g = p.g[i];
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
        sums[2 * piece.place] = weights;
        sums[2 * piece.place + 1] = directions;
    }
}

// A tensor's sums from those of its pieces, in every thread.
struct OfTensor {
    double first, second;
};

__device__ inline OfTensor of_tensor(const double* sums, Piece piece, const Parameter& p, double* scratch) {
    unsigned long long first = piece.place - piece.index, end = first + (p.n + PIECE - 1) / PIECE;
    OfTensor own = {0.0, 0.0};
    for (unsigned long long i = first + threadIdx.x; i < end; i += blockDim.x) {
        own.first += sums[2 * i];
        own.second += sums[2 * i + 1];
    }
    own.first = block_sum(own.first, scratch);
    own.second = block_sum(own.second, scratch);
    return own;
}

// LAMB's step: each tensor's own is scaled by ‖w‖/‖direction‖, or by 1 if either is 0.
extern "C" __global__ void __launch_bounds__(256)
    lamb_apply(const __grid_constant__ Tensors tensors, const Piece* pieces, const AdamFactors* at, const double* sums) {
    __shared__ double scratch[WARP];
    AdamFactors f = *at;
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors.of[piece.tensor];
    Range range = range_of(piece, p);
    OfTensor all = of_tensor(sums, piece, p, scratch);
    float size = f.lr * (all.first > 0.0 && all.second > 0.0 ? (float)sqrt(all.first / all.second) : 1.0f);
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        p.w[i] -= size * lamb_direction(p.w[i], p.m[i], p.v[i], f);
    }
}

// Of each piece the sums of squares of its weights and of its gradients; sums `[pieces, 2]`.
extern "C" __global__ void __launch_bounds__(256)
    lars_norms(const __grid_constant__ Tensors tensors, const Piece* pieces, double* sums) {
    __shared__ double scratch[WARP];
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors.of[piece.tensor];
    Range range = range_of(piece, p);
    double weights = 0.0, gradients = 0.0;
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        float w = p.w[i], g = p.g[i];
        weights += (double)w * w;
        gradients += (double)g * g;
    }
    weights = block_sum(weights, scratch);
    gradients = block_sum(gradients, scratch);
    if (threadIdx.x == 0) {
        sums[2 * piece.place] = weights;
        sums[2 * piece.place + 1] = gradients;
    }
}

// LARS's step (optim/layerwise.rs); the velocity is `m`. Without `sums`, the ratio is 1 and nothing decays.
extern "C" __global__ void __launch_bounds__(256)
    lars_apply(const __grid_constant__ Tensors tensors, const Piece* pieces, double lr, double momentum, double decay,
               double trust, const double* sums) {
    __shared__ double scratch[WARP];
    Piece piece = pieces[blockIdx.x];
    Parameter p = tensors.of[piece.tensor];
    Range range = range_of(piece, p);
    double ratio = 1.0;
    if (sums) {
        OfTensor all = of_tensor(sums, piece, p, scratch);
        double weights = sqrt(all.first), gradients = sqrt(all.second);
        if (weights != 0.0 && gradients != 0.0) ratio = trust * weights / (gradients + decay * weights);
    }
    float size = (float)(lr * ratio), shrink = sums ? (float)decay : 0.0f, keep = (float)momentum;
    for (unsigned long long i = range.from + threadIdx.x; i < range.to; i += blockDim.x) {
        float w = p.w[i], next = p.m[i] * keep + (p.g[i] + w * shrink) * size;
        p.m[i] = next;
        p.w[i] = w - next;
    }
}

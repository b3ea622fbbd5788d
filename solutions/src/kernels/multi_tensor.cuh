// The table of the tensors that one launch changes, and its division into pieces.
#pragma once
#include "values.cuh"

// Values that one block takes.
#define PIECE 16384

// Tensors that one launch takes at most. Their addresses are among its parameters, of which there are 4 KiB, so that a step
// uploads no table (as in NVIDIA's apex).
#define TENSORS 96

// One parameter: `w` and `g`, and the optimizer's states `m` and `v`, where it has them.
struct Parameter {
    float *w, *g, *m, *v;
    unsigned long long n;
};

struct Tensors {
    Parameter of[TENSORS];
};

// Piece `index` of a tensor of this launch. `place` is its number among the pieces of all tensors, where those of one tensor
// follow each other.
struct Piece {
    unsigned tensor, index, place;
};

// The values of this block's piece.
struct Range {
    unsigned long long from, to;
};

__device__ inline Range range_of(Piece piece, const Parameter& p) {
    unsigned long long from = (unsigned long long)piece.index * PIECE, to = from + PIECE;
    return {from, to < p.n ? to : p.n};
}

// The table of the tensors that one launch changes, and its division into pieces.
#pragma once
#include "values.cuh"

// Values that one block takes.
#define PIECE 16384

// One parameter: `w` and `g`, and the optimizer's states `m` and `v`, where it has them.
struct Parameter {
    float *w, *g, *m, *v;
    unsigned long long n;
};

// Piece `index` of a tensor; the pieces of a tensor follow each other.
struct Piece {
    unsigned tensor, index;
};

// The values of this block's piece.
struct Range {
    unsigned long long from, to;
};

__device__ inline Range range_of(Piece piece, const Parameter& p) {
    unsigned long long from = (unsigned long long)piece.index * PIECE, to = from + PIECE;
    return {from, to < p.n ? to : p.n};
}

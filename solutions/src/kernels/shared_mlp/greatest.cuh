// A value and its row in 64 bits, ordered so that atomicMax keeps the greatest value and of equals the first row. The
// maximum does not depend on the order of the blocks. NaN is the greatest value. 0 is less than every key.
#pragma once
#include "values.cuh"

typedef unsigned long long Key;

__device__ inline Key key_of(float value, int row) {
    unsigned bits = __float_as_uint(value + 0.0f); // −0 becomes 0.
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    if (value != value) bits = 0xffffffffu;
    return (Key)bits << 32 | (unsigned)~row;
}

__device__ inline float value_of(Key key) {
    unsigned bits = (unsigned)(key >> 32);
    return __uint_as_float(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
}

__device__ inline int row_of(Key key) { return (int)~(unsigned)key; }

// The sign that makes the greatest product the one that batch norm needs: the least if γ < 0, any if γ = 0.
__device__ inline float sign_of(float gamma) { return gamma < 0.0f ? -1.0f : gamma == 0.0f ? 0.0f : 1.0f; }

// The rows of part `part` of `parts` of a cloud, whole tiles of `tile` rows.
struct Rows {
    int from, end;
};

__device__ inline Rows part_of(const int* starts, int cloud, int part, int parts, int tile) {
    int first = starts[cloud], tiles = (starts[cloud + 1] - first + tile - 1) / tile;
    int from = first + (int)((long long)tiles * part / parts) * tile;
    int end = first + (int)((long long)tiles * (part + 1) / parts) * tile;
    return {from, min(end, starts[cloud + 1])};
}

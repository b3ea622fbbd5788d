// Barriers, and the operations that the lanes of a warp do together.
#pragma once
#include "words.h"

__forceinline__ void __syncthreads(GRID_HERE) { grid_barrier(0, 0, line, file); }
__forceinline__ int __syncthreads_count(int predicate, GRID_HERE) { return grid_barrier(predicate != 0, 0, line, file); }
__forceinline__ int __syncthreads_and(int predicate, GRID_HERE) { return grid_barrier(predicate != 0, 1, line, file); }
__forceinline__ int __syncthreads_or(int predicate, GRID_HERE) { return grid_barrier(predicate != 0, 2, line, file); }
__forceinline__ void __syncwarp(unsigned mask = 0xffffffffu, GRID_HERE) { grid_syncwarp(mask, line, file); }
inline void __threadfence() { grid_fence(); }
inline void __threadfence_block() {}
inline void __threadfence_system() { grid_fence(); }

namespace grid {
template <class T> unsigned long long bits(T v) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    unsigned long long b = 0;
    __builtin_memcpy(&b, &v, sizeof(T));
    return b;
}
template <class T> T from_bits(unsigned long long b) {
    T v;
    __builtin_memcpy((void*)&v, &b, sizeof(T));
    return v;
}
} // namespace grid

#define GRID_SHUFFLE(NAME, KIND, OPERAND)                                                                              \
    template <class T>                                                                                                 \
    __forceinline__ T NAME(unsigned mask, T value, OPERAND operand, int width = 32, GRID_HERE) {                       \
        return grid::from_bits<T>(grid_shuffle(grid::KIND, mask, grid::bits(value), (int)operand, width, line, file)); \
    }
GRID_SHUFFLE(__shfl_sync, FROM, int)
GRID_SHUFFLE(__shfl_up_sync, UP, unsigned)
GRID_SHUFFLE(__shfl_down_sync, DOWN, unsigned)
GRID_SHUFFLE(__shfl_xor_sync, XOR, int)
#undef GRID_SHUFFLE

__forceinline__ unsigned __activemask() { return grid_active_mask(); }
__forceinline__ unsigned __ballot_sync(unsigned mask, int predicate, GRID_HERE) {
    return grid_ballot(mask, predicate != 0, line, file);
}
__forceinline__ int __any_sync(unsigned mask, int predicate, GRID_HERE) {
    return grid_ballot(mask, predicate != 0, line, file) != 0;
}
__forceinline__ int __all_sync(unsigned mask, int predicate, GRID_HERE) {
    return grid_ballot(mask, predicate == 0, line, file) == 0;
}
template <class T> __forceinline__ unsigned __match_any_sync(unsigned mask, T value, GRID_HERE) {
    return grid_match(mask, grid::bits(value), line, file);
}

#define GRID_REDUCE(NAME, T, KIND)                                                                                     \
    __forceinline__ T NAME(unsigned mask, T value, GRID_HERE) {                                                        \
        return (T)grid_reduce(grid::KIND, mask, (unsigned)value, line, file);                                          \
    }
GRID_REDUCE(__reduce_add_sync, int, ADD)
GRID_REDUCE(__reduce_add_sync, unsigned, ADD_UNSIGNED)
GRID_REDUCE(__reduce_min_sync, int, MIN)
GRID_REDUCE(__reduce_min_sync, unsigned, MIN_UNSIGNED)
GRID_REDUCE(__reduce_max_sync, int, MAX)
GRID_REDUCE(__reduce_max_sync, unsigned, MAX_UNSIGNED)
GRID_REDUCE(__reduce_and_sync, unsigned, AND)
GRID_REDUCE(__reduce_or_sync, unsigned, OR)
GRID_REDUCE(__reduce_xor_sync, unsigned, BIT_XOR)
#undef GRID_REDUCE

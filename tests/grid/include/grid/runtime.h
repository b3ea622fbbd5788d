// What a compiled kernel calls. A warp's collective operations and barriers name the line from which they are called.
#pragma once

#define GRID_HERE int line = __builtin_LINE(), const char *file = __builtin_FILE()

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

namespace grid {

enum Operation : unsigned {
    SYNCTHREADS,
    SYNCWARP,
    SHUFFLE,
    VOTE,
    MATCH,
    REDUCE,
    WMMA_LOAD,
    WMMA_STORE,
    WMMA_MMA,
};

enum Shuffle : int { FROM, UP, DOWN, XOR };
enum Reduce : int { ADD, ADD_UNSIGNED, MIN, MIN_UNSIGNED, MAX, MAX_UNSIGNED, AND, OR, BIT_XOR };

// One lane's part of a warp's matrix product: pointers to its elements of the fragments, as float.
struct Product {
    const float *a, *b, *c;
    float* d;
    int m, n, k;
};

// Where in a matrix, by rows, element `element` of a lane's fragment is. CUDA does not specify it: this order differs from
// every GPU's, and from those in which a warp's lanes usually share out a matrix, so that nothing works by luck.
constexpr unsigned fragment_index(unsigned element, unsigned lane) {
    return 32 * element + (5 * lane + 7 * element + 3) % 32;
}

// The size of the smallest part of a T that threads share out among them, as far as its alignment tells; at most 4.
template <class T> struct Granule { static constexpr unsigned value = alignof(T) < 4 ? alignof(T) : 4; };
template <class T, unsigned long N> struct Granule<T[N]> : Granule<T> {};

} // namespace grid

extern "C" {
// Constant for a thread, so that the compiler calls them once.
__attribute__((const)) uint3 grid_thread_index();
__attribute__((const)) uint3 grid_block_index();
__attribute__((const)) uint3 grid_block_size();
__attribute__((const)) uint3 grid_grid_size();
__attribute__((const)) unsigned grid_lane();

// The block's shared variable of this key; allocated by the first thread of a block that comes. Races are told apart by
// pieces of `granule` bytes.
void* grid_shared(const void* key, unsigned long bytes, unsigned long alignment, unsigned granule, const char* name);
void* grid_dynamic();

int grid_barrier(int predicate, int combine, int line, const char* file);
void grid_syncwarp(unsigned mask, int line, const char* file);
unsigned long long grid_shuffle(int kind, unsigned mask, unsigned long long value, int operand, int width, int line,
                                const char* file);
unsigned grid_ballot(unsigned mask, int predicate, int line, const char* file);
unsigned grid_match(unsigned mask, unsigned long long value, int line, const char* file);
unsigned grid_reduce(int kind, unsigned mask, unsigned value, int line, const char* file);
unsigned grid_active_mask();
// All lanes of a warp load or store one matrix; checks that they agree, and the rules for pointer and leading dimension.
void grid_wmma_access(int store, const void* matrix, unsigned ldm, int element, int line, const char* file);
void grid_wmma_product(const grid::Product* own, int line, const char* file);

// Bounds and races of an atomic operation; the value itself is read and written by these too.
unsigned long long grid_atomic_load(const void* address, int bytes);
void grid_atomic_store(void* address, unsigned long long value, int bytes);
void grid_fence();

void grid_copy_async(void* to, const void* from, unsigned long bytes, unsigned long zeros);
void grid_copy_commit();
void grid_copy_wait(unsigned newest_that_may_run);

[[noreturn]] void grid_trap();
}

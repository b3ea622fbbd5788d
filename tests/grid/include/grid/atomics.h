// Atomic operations. The emulation switches threads only at barriers and warp operations, so plain reads and writes do;
// the runtime checks bounds and races.
#pragma once
#include "warp.h"

#define GRID_ATOMIC(NAME, T, NEXT)                                                                                     \
    __forceinline__ T NAME(T* address, T value) {                                                                      \
        T old = grid::from_bits<T>(grid_atomic_load(address, sizeof(T)));                                              \
        grid_atomic_store(address, grid::bits<T>(NEXT), sizeof(T));                                                    \
        return old;                                                                                                    \
    }
#define GRID_INTEGERS(NAME, NEXT)                                                                                      \
    GRID_ATOMIC(NAME, int, NEXT)                                                                                       \
    GRID_ATOMIC(NAME, unsigned, NEXT)                                                                                  \
    GRID_ATOMIC(NAME, unsigned long long, NEXT)
GRID_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)value))
GRID_ATOMIC(atomicAdd, unsigned, old + value)
GRID_ATOMIC(atomicAdd, unsigned long long, old + value)
GRID_ATOMIC(atomicAdd, float, old + value)
GRID_ATOMIC(atomicAdd, double, old + value)
GRID_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)value))
GRID_ATOMIC(atomicSub, unsigned, old - value)
GRID_INTEGERS(atomicMax, old > value ? old : value)
GRID_INTEGERS(atomicMin, old < value ? old : value)
GRID_INTEGERS(atomicAnd, old & value)
GRID_INTEGERS(atomicOr, old | value)
GRID_INTEGERS(atomicXor, old ^ value)
GRID_INTEGERS(atomicExch, value)
GRID_ATOMIC(atomicExch, float, value)
GRID_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
GRID_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#undef GRID_ATOMIC
#undef GRID_INTEGERS

#define GRID_CAS(T)                                                                                                    \
    __forceinline__ T atomicCAS(T* address, T compare, T value) {                                                      \
        T old = grid::from_bits<T>(grid_atomic_load(address, sizeof(T)));                                              \
        grid_atomic_store(address, grid::bits<T>(old == compare ? value : old), sizeof(T));                            \
        return old;                                                                                                    \
    }
GRID_CAS(int)
GRID_CAS(unsigned)
GRID_CAS(unsigned short)
GRID_CAS(unsigned long long)
#undef GRID_CAS

// Asynchronous copies from global to shared memory (`cp.async`). They finish only when the thread waits for them.
#pragma once
#include "grid/warp.h"

__forceinline__ void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
    grid_copy_async(to, from, bytes, zeros);
}
inline void __pipeline_commit() { grid_copy_commit(); }
inline void __pipeline_wait_prior(unsigned newest_that_may_run) { grid_copy_wait(newest_that_may_run); }

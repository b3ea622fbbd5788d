// `cp.async`: a copy writes nothing until the thread waits for its group, so that a missing wait is seen.
#include "state.h"
#include <string.h>

namespace grid {

void finish_copies(Fiber* f, uint32_t before_group) {
    size_t kept = 0;
    for (const Copy& copy : f->copies) {
        if (copy.group >= before_group) {
            f->copies[kept++] = copy;
            continue;
        }
        memcpy((void*)copy.to, (const void*)copy.from, copy.bytes - copy.zeros);
        memset((void*)(copy.to + copy.bytes - copy.zeros), 0, copy.zeros);
        // Now it is a write of this thread at this moment.
        Region* r = find(copy.to);
        size_t first = copy.to - r->start;
        for (size_t i = first >> r->shift; i <= (first + copy.bytes - 1) >> r->shift; ++i) {
            Stamp& s = r->cells[i].write;
            s.pending = 0, s.epoch = now.epoch, s.time = f->time;
        }
    }
    f->copies.resize(kept);
}

} // namespace grid

using namespace grid;

extern "C" {
void grid_copy_async(void* to, const void* from, unsigned long bytes, unsigned long zeros) {
    uintptr_t pc = (uintptr_t)__builtin_return_address(0), t = (uintptr_t)to, f = (uintptr_t)from;
    for (uintptr_t p : {t, f}) {
        if (p % bytes == 0) continue;
        describe(p);
        now.fault->bytes = bytes, now.fault->detail[0] = (long)bytes;
        fail(MISALIGNED, here(pc, COPY));
    }
    Region* target = find(t);
    if (target && target->kind == 1) {
        describe(t);
        now.fault->bytes = bytes, now.fault->detail[0] = 1; // Not shared memory.
        fail(ASYNC_COPY, here(pc, COPY));
    }
    if (bytes > zeros) check(f, bytes - zeros, READ, pc);
    check(t, bytes, COPY, pc);
    Fiber* fiber = now.current;
    fiber->copies.push_back({t, f, (uint32_t)bytes, (uint32_t)zeros, fiber->groups, pc});
}
void grid_copy_commit() { now.current->groups += 1; }
void grid_copy_wait(unsigned newest_that_may_run) {
    Fiber* f = now.current;
    if (f->groups > newest_that_may_run) finish_copies(f, f->groups - newest_that_may_run);
}
}

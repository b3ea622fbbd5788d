// What the compiler inserts before each access of a kernel (`-fsanitize=thread`) and around doubtful operations
// (`-fsanitize=alignment,bounds,integer-divide-by-zero`). The sanitizers' own libraries are not linked.
#include "state.h"

using namespace grid;

#define PC ((uintptr_t)__builtin_return_address(0))
#define HOOKS(N)                                                                                                       \
    void __tsan_read##N(void* p) { aligned((uintptr_t)p, N, READ, PC); }                                               \
    void __tsan_write##N(void* p) { aligned((uintptr_t)p, N, WRITE, PC); }                                             \
    void __tsan_unaligned_read##N(void* p) { check((uintptr_t)p, N, READ, PC); }                                       \
    void __tsan_unaligned_write##N(void* p) { check((uintptr_t)p, N, WRITE, PC); }                                     \
    void __tsan_volatile_read##N(void* p) { check((uintptr_t)p, N, READ, PC); }                                        \
    void __tsan_volatile_write##N(void* p) { check((uintptr_t)p, N, WRITE, PC); }

// An access that the compiler takes to be aligned.
static inline void aligned(uintptr_t p, unsigned bytes, Mode mode, uintptr_t pc) {
    if (p % bytes && now.current) {
        describe(p);
        now.fault->bytes = bytes, now.fault->detail[0] = bytes;
        fail(MISALIGNED, here(pc, mode));
    }
    check(p, bytes, mode, pc);
}

struct Source {
    const char* file;
    unsigned line, column;
};
struct TypeMismatch {
    Source source;
    const void* type;
    unsigned char log_alignment, kind;
};
struct OutOfBounds {
    Source source;
    const void *array, *index;
};

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_init() {}
void __tsan_read_range(void* p, size_t n) { check((uintptr_t)p, n, READ, PC); }
void __tsan_write_range(void* p, size_t n) { check((uintptr_t)p, n, WRITE, PC); }
void __tsan_vptr_read(void** p) { check((uintptr_t)p, sizeof(void*), READ, PC); }
void __tsan_vptr_update(void** p, void*) { check((uintptr_t)p, sizeof(void*), WRITE, PC); }
void __tsan_func_exit() {}
void __tsan_func_entry(void* pc) {
    Fiber* f = now.current;
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    if (f && stack - f->stack < STACK / 8) fail(STACK_OVERFLOW, here((uintptr_t)pc, READ));
}
void* __tsan_memcpy(void* to, const void* from, size_t n) {
    check((uintptr_t)from, n, READ, PC);
    check((uintptr_t)to, n, WRITE, PC);
    return __builtin_memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
    check((uintptr_t)from, n, READ, PC);
    check((uintptr_t)to, n, WRITE, PC);
    return __builtin_memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, size_t n) {
    check((uintptr_t)to, n, WRITE, PC);
    return __builtin_memset(to, value, n);
}

void __ubsan_handle_type_mismatch_v1(TypeMismatch* at, uintptr_t address) {
    if (!now.current) return;
    describe(address);
    now.fault->detail[0] = 1l << at->log_alignment;
    fail(MISALIGNED, here((int)at->source.line, at->source.file));
}
void __ubsan_handle_out_of_bounds(OutOfBounds* at, uintptr_t index) {
    if (!now.current) return;
    now.fault->detail[0] = (long)(int)index;
    // A type descriptor: two 16-bit numbers, then the type's name.
    const char* name = (const char*)at->array + 4;
    for (int i = 0; i < 63 && name[i]; ++i) now.fault->name[i] = name[i];
    fail(INDEX, here((int)at->source.line, at->source.file));
}
void __ubsan_handle_divrem_overflow(OutOfBounds* at, uintptr_t, uintptr_t) {
    if (now.current) fail(DIVISION, here((int)at->source.line, at->source.file));
}
}

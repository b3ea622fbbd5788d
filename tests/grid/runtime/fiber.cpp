// Threads as fibers: each runs until it waits for others or returns. Blocks run one after another.
#include "state.h"
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace grid {

State now;

#if defined(__x86_64__)
extern "C" void grid_switch(void** from, void* to);
asm(R"(
    .text
    .hidden grid_switch
    .globl grid_switch
grid_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
static void* prepare(uintptr_t stack, void (*enter)()) {
    void** top = (void**)(stack + STACK);
    top[-1] = nullptr;
    top[-2] = (void*)enter;
    return top - 8;
}
#else
// Slower, because it saves the signal mask too.
static ucontext_t* running;
static ucontext_t main_context;
static void grid_switch(void** from, void* to) {
    ucontext_t* old = running ? running : &main_context;
    *from = old;
    running = (ucontext_t*)to;
    swapcontext(old, running);
}
static void* prepare(uintptr_t stack, void (*enter)()) {
    ucontext_t* context = (ucontext_t*)stack;
    getcontext(context);
    context->uc_stack.ss_sp = (void*)(stack + sizeof(ucontext_t));
    context->uc_stack.ss_size = STACK - sizeof(ucontext_t);
    makecontext(context, enter, 0);
    return context;
}
#endif

void make_ready(Fiber* fiber) {
    fiber->wait.state = 0;
    size_t at = now.next + now.queued++;
    now.ready[at < now.ready.size() ? at : at - now.ready.size()] = fiber;
}

static void back_to_main(void** from) {
    now.current = nullptr;
    grid_switch(from, now.main);
}

// Runs the next thread; the one that calls goes on here when its turn comes again.
void resume_next() {
    Fiber* old = now.current;
    if (now.queued == 0) return back_to_main(&old->stack_pointer);
    Fiber* fiber = now.ready[now.next];
    now.next = now.next + 1 == now.ready.size() ? 0 : now.next + 1;
    now.queued -= 1;
    if (fiber == old) return;
    now.current = fiber;
    grid_switch(&old->stack_pointer, fiber->stack_pointer);
}

void suspend(unsigned operation, unsigned mask, int line, const char* file) {
    now.current->wait = {1, operation, mask, line, file};
}

void fail(Problem problem, Place at) {
    now.fault->problem = problem;
    now.fault->at = at;
    void* dropped;
    back_to_main(&dropped);
    __builtin_unreachable();
}

Place here(uintptr_t pc, Mode mode) { return {now.block - 1, now.current->id, mode, 0, nullptr, pc}; }
Place here(int line, const char* file) { return {now.block - 1, now.current->id, READ, line, file, 0}; }

static void enter() {
    now.launch->call(now.launch->arguments);
    Fiber* fiber = now.current;
    finish_copies(fiber, fiber->groups + 1);
    fiber->wait.state = 2;
    now.done += 1;
    lane_returned(fiber);
    resume_next();
}

static void start_block(uint32_t index) {
    uint3 size = now.grid_size;
    now.block = index + 1;
    now.block_index = {index % size.x, index / size.x % size.y, index / size.x / size.y};
    now.epoch = now.arrived = now.done = 0;
    now.sum = 0;
    now.next = now.queued = 0;
    now.acquired.assign(now.acquired.size(), false);
    reset_shared();
    for (size_t i = 0; i < now.fibers.size(); ++i) {
        Fiber& fiber = now.fibers[i];
        uint3 by = now.block_size;
        fiber.id = i, fiber.warp = i / 32, fiber.lane = i % 32;
        fiber.index = {(unsigned)(i % by.x), (unsigned)(i / by.x % by.y), (unsigned)(i / by.x / by.y)};
        fiber.wait = {};
        fiber.time = 1;
        memset(fiber.clock, 0, sizeof fiber.clock);
        fiber.fenced = false;
        fiber.groups = 0;
        fiber.fuel = FUEL;
        fiber.copies.clear();
        fiber.stack_pointer = prepare(fiber.stack, enter);
        make_ready(&fiber);
    }
    for (size_t w = 0; w < now.warps.size(); ++w) {
        size_t lanes = now.fibers.size() - 32 * w;
        now.warps[w] = {&now.fibers[32 * w], lanes >= 32 ? 0xffffffffu : (1u << lanes) - 1, 0};
    }
}

// Runs one block; false after a fault.
static bool run_block(uint32_t index) {
    start_block(index);
    Fiber start{};
    now.current = &start;
    // The first thread finds here what to go back to.
    Fiber* first = now.ready[0];
    now.next = now.ready.size() == 1 ? 0 : 1;
    now.queued -= 1;
    now.current = first;
    grid_switch(&now.main, first->stack_pointer);
    if (now.fault->problem == NONE && now.done < now.fibers.size()) {
        now.fault->problem = DEADLOCK;
        now.fault->at = {index, 0, 0, 0, nullptr, 0};
        for (size_t i = 0; i < now.fibers.size(); ++i) {
            const Wait& w = now.fibers[i].wait;
            now.launch->waiting[i] = {w.state, w.operation, w.mask, w.line, w.file};
        }
    }
    return now.fault->problem == NONE;
}

// The addresses of this shared object, for constants and `__device__` variables.
static int find_image(dl_phdr_info* info, size_t, void*) {
    uintptr_t own = (uintptr_t)&now, start = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD) continue;
        uintptr_t from = info->dlpi_addr + part.p_vaddr;
        start = from < start ? from : start;
        end = from + part.p_memsz > end ? from + part.p_memsz : end;
    }
    if (own < start || own >= end) return 0;
    now.image_start = start, now.image_end = end;
    return 1;
}

static void* pages(size_t bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

// Zeros for the shadow, in large pages, or in small ones at once: a third of a run would go to page faults.
static Cell* cells(size_t bytes) {
    void* p = pages(bytes);
#if defined(MADV_POPULATE_WRITE) && defined(MADV_HUGEPAGE)
    if (p) madvise(p, bytes, bytes < 4 << 20 ? MADV_POPULATE_WRITE : MADV_HUGEPAGE);
#endif
    return (Cell*)p;
}

// Global memory with its shadow, then the arena of shared memory; false if there is not enough memory.
static bool prepare_memory() {
    const Launch* l = now.launch;
    now.regions.clear();
    for (unsigned i = 0; i < l->buffers; ++i) {
        const Buffer& b = l->buffer[i];
        unsigned shift = b.granule >= 8 ? 3 : b.granule >= 4 ? 2 : b.granule >= 2 ? 1 : 0;
        Cell* shadow = cells((b.bytes / (1 << shift) + 2) * sizeof(Cell));
        if (!shadow) return false;
        now.regions.push_back({(uintptr_t)b.start, b.bytes, shift, 1, i, b.read_only != 0, "", nullptr, shadow});
    }
    now.buffers = l->buffers;
    now.arena = (uintptr_t)pages(ARENA);
    now.arena_cells = cells(ARENA * sizeof(Cell));
    return now.arena && now.arena_cells;
}

static void release_memory() {
    for (size_t i = 0; i < now.buffers; ++i) {
        const Region& r = now.regions[i];
        munmap(r.cells, (r.bytes / (1 << r.shift) + 2) * sizeof(Cell));
    }
    munmap((void*)now.arena, ARENA);
    munmap(now.arena_cells, ARENA * sizeof(Cell));
}

static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;

// 0, or 1 after a fault, or 2 if there is not enough memory.
static int launch(const Launch* l, Fault* fault) {
    now.launch = l;
    now.trace = l->trace;
    now.fault = fault;
    *fault = {};
    now.block_size = {l->block[0], l->block[1], l->block[2]};
    now.grid_size = {l->grid[0], l->grid[1], l->grid[2]};
    size_t threads = (size_t)l->block[0] * l->block[1] * l->block[2];
    size_t blocks = (size_t)l->grid[0] * l->grid[1] * l->grid[2];
    dl_iterate_phdr(find_image, nullptr);
    fault->image = now.image_start;
    uintptr_t stacks = (uintptr_t)pages(threads * STACK);
    if (!stacks || !prepare_memory()) return 2;
    now.fibers.assign(threads, {});
    for (size_t i = 0; i < threads; ++i) now.fibers[i].stack = stacks + i * STACK;
    now.warps.assign((threads + 31) / 32, {});
    now.ready.assign(threads, nullptr);
    now.published.clear();
    now.acquired.assign(blocks + 1, false);
    bool fine = true;
    for (size_t b = 0; fine && b < blocks; ++b) fine = run_block(b);
    now.current = nullptr;
    release_memory();
    munmap((void*)stacks, threads * STACK);
    return fine ? 0 : 1;
}

} // namespace grid

extern "C" {
__attribute__((visibility("default"))) int grid_launch(const grid::Launch* l, grid::Fault* fault) {
    pthread_mutex_lock(&grid::one_launch);
    int result = grid::launch(l, fault);
    pthread_mutex_unlock(&grid::one_launch);
    return result;
}
uint3 grid_thread_index() { return grid::now.current->index; }
uint3 grid_block_index() { return grid::now.block_index; }
uint3 grid_block_size() { return grid::now.block_size; }
uint3 grid_grid_size() { return grid::now.grid_size; }
unsigned grid_lane() { return grid::now.current->lane; }
[[noreturn]] void grid_trap() {
    grid::fail(grid::TRAP, grid::here((uintptr_t)__builtin_return_address(0), grid::READ));
}
}

// Barriers, and the operations that the lanes of a warp do together: the last lane that comes does them for all.
#include "state.h"

namespace grid {

// A value that no lane gave. As float, half or bfloat16 it is NaN.
constexpr uint64_t UNDEFINED = 0x7fff7fff7fff7fffull;

static void note_undefined(const Fiber& lane, int source) {
    Fault& f = *now.fault;
    if (f.note.line) return;
    f.note = {now.block - 1, lane.id, READ, lane.wait.line, lane.wait.file, 0};
    f.note_source = (unsigned)source;
}

// The lane from which `lane` reads; the own one if there is none in its segment.
static int source_of(const Fiber& lane) {
    int own = (int)lane.lane, width = lane.payload.width, operand = lane.payload.operand;
    int base = own & ~(width - 1), last = base + width - 1, from = own;
    switch (lane.payload.kind) {
    case FROM: return base + (operand & (width - 1));
    case UP: from = own - operand; return from < base ? own : from;
    case DOWN: from = own + operand; return from > last || from < own ? own : from;
    default: from = own ^ operand; return from > last || from < 0 ? own : from;
    }
}

static void shuffle(Fiber* lanes, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1) {
        Fiber& lane = lanes[__builtin_ctz(left)];
        int from = source_of(lane);
        bool given = mask >> from & 1;
        if (!given) note_undefined(lane, from);
        lane.payload.result = given ? lanes[from].payload.value : UNDEFINED;
    }
}

static uint64_t combine(int kind, uint64_t x, uint64_t y) {
    int32_t a = (int32_t)x, b = (int32_t)y;
    switch (kind) {
    case MIN: return (uint32_t)(a < b ? a : b);
    case MAX: return (uint32_t)(a > b ? a : b);
    case MIN_UNSIGNED: return x < y ? x : y;
    case MAX_UNSIGNED: return x > y ? x : y;
    case AND: return x & y;
    case OR: return x | y;
    case BIT_XOR: return x ^ y;
    default: return (uint32_t)(x + y);
    }
}

// Votes, matches and reductions: a result from the values of all.
static void gather(Fiber* lanes, uint32_t mask, unsigned operation) {
    uint64_t all = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        Payload& p = lanes[i].payload;
        if (operation == VOTE) all |= p.value << i;
        if (operation == REDUCE) all = left == mask ? p.value : combine(p.kind, all, p.value);
        if (operation != MATCH) continue;
        p.result = 0;
        for (uint32_t other = mask; other; other &= other - 1) {
            int j = __builtin_ctz(other);
            if (lanes[j].payload.value == p.value) p.result |= 1ull << j;
        }
    }
    for (uint32_t left = mask; left && operation != MATCH; left &= left - 1) lanes[__builtin_ctz(left)].payload.result = all;
}

// After it, each lane knows what the others did before.
static void join_clocks(Fiber* lanes, uint32_t mask) {
    uint32_t joined[32] = {};
    for (uint32_t left = mask; left; left &= left - 1) {
        Fiber& f = lanes[__builtin_ctz(left)];
        f.clock[f.lane] = f.time++;
        for (int i = 0; i < 32; ++i) joined[i] = joined[i] > f.clock[i] ? joined[i] : f.clock[i];
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        Fiber& f = lanes[__builtin_ctz(left)];
        for (int i = 0; i < 32; ++i) f.clock[i] = joined[i];
    }
}

[[noreturn]] static void lanes_disagree(Fiber& lane, long what) {
    now.fault->detail[0] = what;
    now.current = &lane;
    fail(WMMA, here(lane.wait.line, lane.wait.file));
}

static void same_matrix(Fiber* lanes) {
    for (int i = 1; i < 32; ++i) {
        if (lanes[i].payload.value != lanes[0].payload.value) lanes_disagree(lanes[i], 3);
        if (lanes[i].payload.operand != lanes[0].payload.operand) lanes_disagree(lanes[i], 4);
    }
}

static void product(Fiber* lanes) {
    const Product& p = *lanes[0].payload.product;
    float a[32 * 16], b[16 * 32], c[256];
    for (int l = 0; l < 32; ++l) {
        const Product& own = *lanes[l].payload.product;
        for (int e = 0; 32 * e < p.m * p.k; ++e) a[fragment_index(e, l)] = own.a[e];
        for (int e = 0; 32 * e < p.k * p.n; ++e) b[fragment_index(e, l)] = own.b[e];
        for (int e = 0; 32 * e < p.m * p.n; ++e) c[fragment_index(e, l)] = own.c[e];
    }
    for (int i = 0; i < p.m; ++i) {
        for (int k = 0; k < p.k; ++k) {
            for (int j = 0; j < p.n; ++j) c[i * p.n + j] += a[i * p.k + k] * b[k * p.n + j];
        }
    }
    for (int l = 0; l < 32; ++l) {
        for (int e = 0; 32 * e < p.m * p.n; ++e) lanes[l].payload.product->d[e] = c[fragment_index(e, l)];
    }
}

static void perform(Fiber* lanes, uint32_t mask, unsigned operation) {
    switch (operation) {
    case SYNCWARP: return join_clocks(lanes, mask);
    case SHUFFLE: return shuffle(lanes, mask);
    case WMMA_LOAD:
    case WMMA_STORE: return same_matrix(lanes);
    case WMMA_MMA: return product(lanes);
    default: return gather(lanes, mask, operation);
    }
}

// If every lane for which `waiting` waits is there, performs the operation; true if so.
static bool complete(Warp& warp, const Wait& waiting) {
    uint32_t mask = waiting.mask & warp.alive;
    if (mask & ~warp.waiting) return false;
    for (uint32_t left = mask; left; left &= left - 1) {
        const Wait& w = warp.first[__builtin_ctz(left)].wait;
        bool same = w.operation == waiting.operation && w.mask == waiting.mask && w.line == waiting.line;
        if (!same || w.file != waiting.file) return false;
    }
    perform(warp.first, mask, waiting.operation);
    warp.waiting &= ~mask;
    for (uint32_t left = mask; left; left &= left - 1) make_ready(&warp.first[__builtin_ctz(left)]);
    return true;
}

// The current lane comes to an operation; returns when all that its mask names have come.
static uint64_t meet(unsigned operation, uint32_t mask, const Payload& payload, int line, const char* file) {
    Fiber* f = now.current;
    Warp& warp = now.warps[f->warp];
    if (!(mask >> f->lane & 1)) {
        now.fault->detail[0] = operation, now.fault->detail[1] = mask;
        fail(LANE_NOT_IN_MASK, here(line, file));
    }
    f->payload = payload;
    suspend(operation, mask, line, file);
    warp.waiting |= 1u << f->lane;
    complete(warp, f->wait);
    resume_next();
    return f->payload.result;
}

void lane_returned(Fiber* f) {
    Warp& warp = now.warps[f->warp];
    warp.alive &= ~(1u << f->lane);
    for (uint32_t left = warp.waiting; left; left &= left - 1) {
        Wait wait = warp.first[__builtin_ctz(left)].wait;
        if (wait.state == 1 && wait.operation != SYNCTHREADS && wait.mask >> f->lane & 1) complete(warp, wait);
    }
}

} // namespace grid

using namespace grid;

extern "C" {
int grid_barrier(int predicate, int combine, int line, const char* file) {
    Fiber* f = now.current;
    for (const Fiber& other : now.fibers) {
        // The first that waits is enough: all that wait were compared with it.
        if (other.wait.state != 1 || other.wait.operation != SYNCTHREADS) continue;
        if (other.wait.line == line && other.wait.file == file) break;
        now.fault->other = {now.block - 1, other.id, READ, other.wait.line, other.wait.file, 0};
        fail(BARRIER, here(line, file));
    }
    suspend(SYNCTHREADS, 0, line, file);
    now.sum += predicate;
    now.arrived += 1;
    f->payload.kind = combine;
    if (now.arrived == now.fibers.size()) {
        int sum = now.sum, all = (int)now.arrived;
        now.arrived = 0, now.sum = 0;
        now.epoch += 1;
        for (Fiber& fiber : now.fibers) {
            int kind = fiber.payload.kind;
            fiber.payload.result = (uint64_t)(kind == 0 ? sum : kind == 1 ? sum == all : sum > 0);
            make_ready(&fiber);
        }
    }
    resume_next();
    return (int)f->payload.result;
}
void grid_syncwarp(unsigned mask, int line, const char* file) { meet(SYNCWARP, mask, {}, line, file); }
unsigned long long grid_shuffle(int kind, unsigned mask, unsigned long long value, int operand, int width, int line,
                                const char* file) {
    return meet(SHUFFLE, mask, {value, 0, kind, operand, width, nullptr}, line, file);
}
unsigned grid_ballot(unsigned mask, int predicate, int line, const char* file) {
    return (unsigned)meet(VOTE, mask, {(uint64_t)predicate, 0, 0, 0, 0, nullptr}, line, file);
}
unsigned grid_match(unsigned mask, unsigned long long value, int line, const char* file) {
    return (unsigned)meet(MATCH, mask, {value, 0, 0, 0, 0, nullptr}, line, file);
}
unsigned grid_reduce(int kind, unsigned mask, unsigned value, int line, const char* file) {
    return (unsigned)meet(REDUCE, mask, {value, 0, kind, 0, 0, nullptr}, line, file);
}
unsigned grid_active_mask() { return now.warps[now.current->warp].alive; }

// Matrix operations need all 32 lanes.
static void whole_warp(int line, const char* file) {
    if (now.warps[now.current->warp].alive == 0xffffffffu) return;
    now.fault->detail[0] = 0;
    fail(WMMA, here(line, file));
}
void grid_wmma_access(int store, const void* matrix, unsigned ldm, int element, int line, const char* file) {
    whole_warp(line, file);
    if ((uintptr_t)matrix % 32) {
        describe((uintptr_t)matrix);
        now.fault->detail[0] = 1;
        fail(WMMA, here(line, file));
    }
    if (ldm * element % 16) {
        now.fault->detail[0] = 2, now.fault->detail[1] = ldm;
        now.fault->bytes = element;
        fail(WMMA, here(line, file));
    }
    meet(store ? WMMA_STORE : WMMA_LOAD, 0xffffffffu, {(uint64_t)(uintptr_t)matrix, 0, 0, (int)ldm, 0, nullptr}, line, file);
}
void grid_wmma_product(const Product* own, int line, const char* file) {
    whole_warp(line, file);
    meet(WMMA_MMA, 0xffffffffu, {0, 0, 0, 0, 0, own}, line, file);
}
}

// Bounds, uninitialised shared memory and races: what each load and store of a kernel is checked for.
#include "state.h"
#include <string.h>

namespace grid {

void reset_shared() {
    now.regions.resize(now.buffers);
    now.recent = 0;
    now.static_end = now.arena;
    now.static_bytes = 0;
    if (now.launch->dynamic_bytes == 0) return;
    uintptr_t start = now.arena + ARENA / 2;
    Cell* cells = now.arena_cells + ARENA / 2;
    now.regions.push_back({start, now.launch->dynamic_bytes, 0, 3, 0, false, "", nullptr, cells});
}

// The region that holds the address, or null.
Region* find(uintptr_t address) {
    Region* all = now.regions.data();
    if (now.recent < now.regions.size() && address - all[now.recent].start < all[now.recent].bytes) return all + now.recent;
    for (size_t i = 0; i < now.regions.size(); ++i) {
        if (address - all[i].start < all[i].bytes) {
            now.recent = i;
            return all + i;
        }
    }
    return nullptr;
}

// The region that holds the address, or else the nearest; null if there is none. Buffers may be close to the pages of shared
// memory, so that a shared variable counts only for an address in these pages, or just outside.
static const Region* nearest_region(uintptr_t address) {
    const Region* nearest = find(address);
    if (nearest) return nearest;
    bool shared = address - (now.arena - SLACK) < ARENA + 2 * SLACK;
    uintptr_t distance = UINTPTR_MAX;
    for (const Region& r : now.regions) {
        if (shared != (r.kind != 1)) continue;
        uintptr_t end = r.start + r.bytes;
        uintptr_t d = address < r.start ? r.start - address : address >= end ? address - end : 0;
        if (d < distance) distance = d, nearest = &r;
    }
    return nearest;
}

// Fills the fault's region.
void describe(uintptr_t address) {
    Fault& f = *now.fault;
    f.address = address;
    const Region* nearest = nearest_region(address);
    if (!nearest) return;
    f.region = nearest->kind, f.index = nearest->index;
    f.offset = (long)(address - nearest->start);
    f.region_bytes = nearest->bytes;
    strncpy(f.name, nearest->name, sizeof f.name - 1);
}

static Place place(const Stamp& s) {
    unsigned access = s.pending ? (unsigned)COPY : s.atomic ? (unsigned)ATOMIC : (unsigned)WRITE;
    return {s.block - 1, s.thread, access, 0, nullptr, now.image_start + s.site};
}

[[noreturn]] static void race(Region* r, size_t cell, const Stamp& earlier, bool earlier_reads, Place at, unsigned bytes,
                              Problem problem = RACE) {
    uintptr_t address = r->start + (cell << r->shift);
    describe(address);
    now.fault->bytes = bytes;
    now.fault->other = place(earlier);
    if (earlier_reads) now.fault->other.access = READ;
    fail(problem, at);
}

// Whether the access happened before what the current thread does now.
static inline bool before(const Stamp& s, const Fiber* f) {
    if (s.block != now.block) return now.acquired[s.block];
    if (s.thread == f->id || s.epoch < now.epoch) return true;
    return s.thread / 32 == f->warp && f->clock[s.thread % 32] >= s.time;
}

static inline void note_read(Cell& c, const Stamp& s) {
    Stamp& last = c.read[0];
    if (last.block == s.block && last.thread != s.thread) {
        bool same_warp = last.thread / 32 == s.thread / 32;
        c.read[same_warp ? 1 : 2] = last;
        if (!same_warp) c.read[1].block = 0;
    } else if (last.block && last.block != s.block) {
        c.read[3] = last;
        c.read[1].block = c.read[2].block = 0;
    }
    last = s;
}

static void read(Region* r, size_t i, const Stamp& s, Place at, unsigned bytes) {
    Cell& c = r->cells[i];
    const Fiber* f = now.current;
    bool shared = r->kind != 1;
    if (c.write.block != s.block && shared) {
        describe(r->start + (i << r->shift));
        now.fault->bytes = bytes;
        fail(UNINITIALISED, at);
    }
    if (c.write.block) {
        if (c.write.pending) race(r, i, c.write, false, at, bytes, ASYNC_COPY);
        if (!before(c.write, f)) race(r, i, c.write, false, at, bytes);
        if (c.other.block == s.block && !before(c.other, f)) race(r, i, c.other, false, at, bytes);
    }
    if (shared && c.read[0].block != s.block) memset(c.read, 0, sizeof c.read);
    note_read(c, s);
}

static void write(Region* r, size_t i, const Stamp& s, Place at, unsigned bytes) {
    Cell& c = r->cells[i];
    const Fiber* f = now.current;
    bool shared = r->kind != 1;
    if (shared && c.write.block != s.block) c.write.block = c.other.block = 0;
    if (c.write.block) {
        if (c.write.pending) race(r, i, c.write, false, at, bytes, ASYNC_COPY);
        bool atomics = c.write.atomic && s.atomic;
        if (!atomics && !before(c.write, f)) race(r, i, c.write, false, at, bytes);
        if (!s.atomic && c.other.block && !before(c.other, f)) race(r, i, c.other, false, at, bytes);
    }
    for (const Stamp& reader : c.read) {
        if (reader.block == 0 || (shared && reader.block != s.block)) continue;
        if (!before(reader, f)) race(r, i, reader, true, at, bytes);
    }
    if (!s.atomic) c.other.block = 0;
    else if (c.write.block && c.write.atomic && (c.write.thread != s.thread || c.write.block != s.block)) c.other = c.write;
    c.write = s;
}

[[noreturn]] static void out_of_bounds(uintptr_t address, size_t bytes, Place at) {
    now.fault->bytes = bytes;
    for (const Fiber& f : now.fibers) {
        if (address - f.stack < STACK) {
            now.fault->detail[0] = f.id;
            fail(OTHER_STACK, at);
        }
    }
    describe(address);
    fail(OUT_OF_BOUNDS, at);
}

// Keeps an access for the trace; of those beyond its capacity only the last, which may be the faulty one.
static __attribute__((noinline)) void keep(uintptr_t address, size_t bytes, Mode mode, uintptr_t pc) {
    Trace& t = *now.trace;
    const Region* r = nearest_region(address);
    if (!r) return;
    if (t.count == t.capacity) t.truncated = 1, t.count -= 1;
    bool shared = r->kind != 1;
    uint64_t memory = shared ? r->start - now.arena : r->index;
    t.accesses[t.count++] = {now.block - 1, now.current->id, shared, memory, r->bytes, (long)(address - r->start),
                             (unsigned)bytes, mode == COPY ? (unsigned)WRITE : mode, now.epoch, 0, pc, 0};
}

void check(uintptr_t address, size_t bytes, Mode mode, uintptr_t pc) {
    Fiber* f = now.current;
    if (!f || bytes == 0 || (address - f->stack < STACK && address + bytes - f->stack <= STACK)) return;
    Place at = here(pc, mode);
    if (--f->fuel == 0) fail(ENDLESS, at);
    Region* r = find(address);
    if (!r && address >= now.image_start && address + bytes <= now.image_end) return;
    if (__builtin_expect(now.trace != nullptr, 0)) keep(address, bytes, mode, pc);
    if (!r) out_of_bounds(address, bytes, at);
    if (address + bytes > r->start + r->bytes) {
        now.fault->detail[1] = 1; // The access begins inside.
        out_of_bounds(address, bytes, at);
    }
    if (mode != READ && r->read_only) {
        describe(address);
        now.fault->bytes = bytes;
        fail(READ_ONLY, at);
    }
    Stamp s{now.block, now.epoch, (uint32_t)(pc - now.image_start), 0, 0, 0, 0};
    s.thread = f->id, s.atomic = mode == ATOMIC, s.pending = mode == COPY, s.time = f->time;
    size_t first = (address - r->start) >> r->shift, last = (address + bytes - 1 - r->start) >> r->shift;
    for (size_t i = first; i <= last; ++i) {
        if (mode == READ) read(r, i, s, at, bytes);
        else write(r, i, s, at, bytes);
    }
}

// An atomic publishes what the block wrote before a `__threadfence`, and acquires what others published there.
static void synchronise(uintptr_t address) {
    bool fenced = now.current->fenced;
    auto found = now.published.find(address);
    if (found != now.published.end()) {
        for (uint32_t block : found->second) now.acquired[block] = true;
    }
    if (!fenced) return;
    std::vector<uint32_t>& blocks = now.published[address];
    if (blocks.empty() || blocks.back() != now.block) blocks.push_back(now.block);
}

} // namespace grid

using namespace grid;

extern "C" {
void* grid_shared(const void* key, unsigned long bytes, unsigned long alignment, unsigned granule, const char* name) {
    for (size_t i = now.buffers; i < now.regions.size(); ++i) {
        if (now.regions[i].key == key) return (void*)now.regions[i].start;
    }
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    alignment = alignment < 16 ? 16 : alignment;
    uintptr_t start = (now.static_end + alignment - 1) / alignment * alignment;
    now.static_bytes += bytes;
    bool fits = now.static_bytes <= STATIC_LIMIT && start + bytes + GAP < now.arena + ARENA / 2;
    if (!fits || now.static_bytes + now.launch->dynamic_bytes > SHARED_LIMIT) {
        now.fault->detail[0] = (long)now.static_bytes;
        now.fault->detail[1] = now.launch->dynamic_bytes;
        fail(SHARED_SIZE, here(pc, READ));
    }
    Cell* cells = now.arena_cells + (start - now.arena);
    now.regions.push_back({start, bytes, granule / 2, 2, 0, false, name, key, cells});
    now.static_end = start + bytes + GAP;
    return (void*)start;
}
void* grid_dynamic() { return (void*)(now.arena + ARENA / 2); }

unsigned long long grid_atomic_load(const void* address, int bytes) {
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    if ((uintptr_t)address % bytes) {
        describe((uintptr_t)address);
        now.fault->bytes = bytes, now.fault->detail[0] = bytes;
        fail(MISALIGNED, here(pc, ATOMIC));
    }
    // A write that reads before it: in shared memory there must be something to read.
    Region* r = find((uintptr_t)address);
    if (r && r->kind != 1 && r->cells[((uintptr_t)address - r->start) >> r->shift].write.block != now.block) {
        describe((uintptr_t)address);
        now.fault->bytes = bytes;
        fail(UNINITIALISED, here(pc, ATOMIC));
    }
    if (r && r->kind == 1) synchronise((uintptr_t)address);
    check((uintptr_t)address, bytes, ATOMIC, pc);
    unsigned long long value = 0;
    memcpy(&value, address, bytes);
    return value;
}
void grid_atomic_store(void* address, unsigned long long value, int bytes) { memcpy(address, &value, bytes); }
void grid_fence() { now.current->fenced = true; }
}

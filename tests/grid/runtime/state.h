// The state of a launch: its threads as fibers, its memory with a shadow that remembers who touched each element.
#pragma once
#include "../include/grid/abi.h"
#include "../include/grid/runtime.h"
#include <stdint.h>
#include <stddef.h>
#include <unordered_map>
#include <vector>

namespace grid {

constexpr size_t STACK = 128 << 10;
// Static shared memory lies in the arena's first half, dynamic in the second.
constexpr size_t ARENA = 1 << 20, STATIC_LIMIT = 48 << 10, SHARED_LIMIT = 227 << 10;
// Bytes between two shared variables, so that a small step past an end meets no other variable.
constexpr size_t GAP = 1024;
// An access so far outside of the pages of shared memory may be meant for a shared variable.
constexpr size_t SLACK = 1 << 16;
// Checked accesses of one thread, after which it is taken to be in an endless loop.
constexpr uint64_t FUEL = 400'000'000;

// An access: block (from 1; 0 is none), thread, barriers that the block had passed, `__syncwarp`s of the lane, and where.
struct Stamp {
    uint32_t block, epoch, site;
    uint32_t thread : 11, atomic : 1, pending : 1, time : 19;
};

// The last accesses of one element: the last write; the last atomic of another thread before it; the last reads: of any
// thread, of another lane of the same warp, of another warp, of another block.
struct Cell {
    Stamp write, other;
    Stamp read[4];
};

struct Region {
    uintptr_t start;
    size_t bytes;
    unsigned shift, kind, index;
    bool read_only;
    const char* name;
    const void* key;
    Cell* cells;
};

enum Mode : unsigned { READ, WRITE, ATOMIC, COPY };

struct Context;

struct Wait {
    unsigned state, operation, mask;
    int line;
    const char* file;
};

// What a lane brings to a warp operation, and its result.
struct Payload {
    uint64_t value, result;
    int kind, operand, width;
    const Product* product;
};

struct Copy {
    uintptr_t to, from;
    uint32_t bytes, zeros, group;
    uintptr_t pc;
};

struct Fiber {
    void* stack_pointer;
    uintptr_t stack;
    uint32_t id, warp, lane;
    uint3 index;
    Wait wait;
    Payload payload;
    // Of the lane itself, and what it knows of the others: `__syncwarp` joins them.
    uint32_t time, clock[32];
    bool fenced;
    uint32_t groups;
    uint64_t fuel;
    std::vector<Copy> copies;
};

struct Warp {
    Fiber* first;
    // Lanes that have not returned, and those of them that wait.
    uint32_t alive, waiting;
};

struct State {
    const Launch* launch;
    Fault* fault;
    Fiber* current;
    void* main;
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    // A ring: each thread is in it at most once.
    std::vector<Fiber*> ready;
    size_t next, queued;
    // Null if the launch is not traced.
    Trace* trace;
    uint32_t block, epoch, arrived, done;
    int sum;
    uint3 block_index, block_size, grid_size;

    std::vector<Region> regions;
    size_t recent, buffers;
    uintptr_t arena, image_start, image_end;
    Cell* arena_cells;
    size_t static_end, static_bytes;
    // Blocks whose fenced writes an atomic at this address publishes; and those that the current block has met.
    std::unordered_map<uintptr_t, std::vector<uint32_t>> published;
    std::vector<bool> acquired;
};

extern State now;

// fiber.cpp
void resume_next();
void make_ready(Fiber* fiber);
void suspend(unsigned operation, unsigned mask, int line, const char* file);
// warp.cpp
void lane_returned(Fiber* fiber);
// memory.cpp
void reset_shared();
void check(uintptr_t address, size_t bytes, Mode mode, uintptr_t pc);
Region* find(uintptr_t address);
// copies.cpp
void finish_copies(Fiber* fiber, uint32_t before_group);

Place here(uintptr_t pc, Mode mode);
Place here(int line, const char* file);
[[noreturn]] void fail(Problem problem, Place at);
void describe(uintptr_t address);

} // namespace grid

// What the Rust library, the runtime and the compiled kernels agree on. `src/abi.rs` has the same types.
#pragma once

namespace grid {

// A kernel's parameter: a pointer (then kind and size are those of what it points to) or a value.
struct Parameter {
    unsigned char pointer, constant, kind;
    unsigned size;
};

struct Kernel {
    void (*call)(void** arguments);
    unsigned count, max_threads;
    Parameter parameters[48];
};

// Global memory; `granule` is the size of its elements, for the detection of races.
struct Buffer {
    char* start;
    unsigned long long bytes;
    unsigned granule, read_only;
};

// What a thread of the faulty block does: 0 it can run, 1 it waits, 2 it has returned.
struct Waiting {
    unsigned state, operation, mask;
    int line;
    const char* file;
};

// An access of a traced launch: `Access` in `src/trace.rs`, which fills `line` and `turn`.
struct Access {
    unsigned block, thread;
    // 0 and the number of a buffer, or 1 and where a shared variable begins in shared memory; then its size.
    unsigned long long kind, memory, size;
    long long offset;
    unsigned bytes, mode, barriers;
    unsigned long long line, pc, turn;
};

struct Trace {
    Access* accesses;
    unsigned long long capacity, count;
    unsigned truncated;
};

struct Launch {
    void (*call)(void**);
    void** arguments;
    unsigned grid[3], block[3];
    unsigned dynamic_bytes, buffers;
    const Buffer* buffer;
    // One for each thread of a block, written if the fault is a deadlock.
    Waiting* waiting;
    // Null if the launch is not traced.
    Trace* trace;
};

enum Problem : unsigned {
    NONE,
    OUT_OF_BOUNDS,
    READ_ONLY,
    UNINITIALISED,
    RACE,
    MISALIGNED,
    INDEX,
    DIVISION,
    DEADLOCK,
    BARRIER,
    LANE_NOT_IN_MASK,
    WMMA,
    ASYNC_COPY,
    OTHER_STACK,
    STACK_OVERFLOW,
    ENDLESS,
    SHARED_SIZE,
    TRAP,
};

// A thread and where it was in the source: `pc` is a return address, or file and line are set.
struct Place {
    unsigned block, thread;
    // 0 read, 1 write, 2 atomic, 3 asynchronous copy.
    unsigned access;
    int line;
    const char* file;
    unsigned long long pc;
};

struct Fault {
    Problem problem;
    // 0 none, 1 a buffer, 2 a shared variable, 3 dynamic shared memory.
    unsigned region, index;
    unsigned bytes;
    Place at, other;
    unsigned long long address, region_bytes;
    // From the start of the region to the address.
    long long offset;
    // Values that the message of a problem needs.
    long long detail[2];
    char name[64];
    // The first shuffle that read a lane which took no part: its value is undefined. `note.line` is 0 if there was none.
    Place note;
    unsigned note_source;
    // Where the module is loaded.
    unsigned long long image;
};

} // namespace grid

//! What this library and the compiled runtime agree on: `include/grid/abi.h` in Rust.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A kernel's parameter: a pointer (then `kind` and `size` are those of its elements) or a value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Parameter {
    pub pointer: u8,
    pub constant: u8,
    pub kind: u8,
    pub size: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Kernel {
    pub call: unsafe extern "C" fn(*mut *mut c_void),
    pub count: c_uint,
    pub max_threads: c_uint,
    pub parameters: [Parameter; 48],
}

#[repr(C)]
pub struct Buffer {
    pub start: *mut u8,
    pub bytes: u64,
    pub granule: c_uint,
    pub read_only: c_uint,
}

/// What a thread does at a deadlock: 0 it can run, 1 it waits, 2 it has returned.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Waiting {
    pub state: c_uint,
    pub operation: c_uint,
    pub mask: c_uint,
    pub line: c_int,
    pub file: *const c_char,
}

#[repr(C)]
pub struct Trace {
    pub accesses: *mut crate::trace::Access,
    pub capacity: u64,
    pub count: u64,
    pub truncated: c_uint,
}

#[repr(C)]
pub struct Launch {
    pub call: unsafe extern "C" fn(*mut *mut c_void),
    pub arguments: *mut *mut c_void,
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub dynamic_bytes: c_uint,
    pub buffers: c_uint,
    pub buffer: *const Buffer,
    pub waiting: *mut Waiting,
    pub trace: *mut Trace,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Place {
    pub block: c_uint,
    pub thread: c_uint,
    pub access: c_uint,
    pub line: c_int,
    pub file: *const c_char,
    pub pc: u64,
}

#[repr(C)]
pub struct Fault {
    pub problem: c_uint,
    pub region: c_uint,
    pub index: c_uint,
    pub bytes: c_uint,
    pub at: Place,
    pub other: Place,
    pub address: u64,
    pub region_bytes: u64,
    pub offset: i64,
    pub detail: [i64; 2],
    pub name: [c_char; 64],
    pub note: Place,
    pub note_source: c_uint,
    pub image: u64,
}

/// Runs a launch: 0, 1 after a fault, 2 if there is not enough memory.
pub type Run = unsafe extern "C" fn(*const Launch, *mut Fault) -> c_int;

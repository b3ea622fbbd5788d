//! The program `canopy`; its commands are in `canopy::cli`.

use std::process::ExitCode;

use canopy::train::memory::Counted;

/// Each step allocates and frees large tensors; this allocator keeps their pages instead of requesting them from the
/// system again. It counts the memory of large allocations for `canopy plan --measure`.
#[global_allocator]
static ALLOCATOR: Counted<mimalloc::MiMalloc> = Counted(mimalloc::MiMalloc);

/// How long freed pages are kept. mimalloc returns them after 10 ms, which is shorter than a step: each step would fault in
/// its tensors again.
const KEEP_PAGES_MS: std::ffi::c_long = 1000;

/// `mi_option_purge_delay`; the crate has no name for it.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    // SAFETY: takes two numbers; only the main thread runs. `MIMALLOC_PURGE_DELAY` takes precedence.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, KEEP_PAGES_MS) };
    canopy::cli::main()
}

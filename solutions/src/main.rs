//! The program `canopy`; its commands are in `canopy::cli`.

use std::process::ExitCode;

/// Large tensors come and go every step; this allocator keeps their pages instead of asking for them anew.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    canopy::cli::main()
}

//! The program `canopy`; its commands are in `canopy::cli`.

use std::process::ExitCode;

use canopy::train::memory::Counted;

/// Large tensors come and go every step; this allocator keeps their pages instead of asking for them anew. What the large
/// ones take is counted, for `canopy plan --measure`.
#[global_allocator]
static ALLOCATOR: Counted<mimalloc::MiMalloc> = Counted(mimalloc::MiMalloc);

fn main() -> ExitCode {
    canopy::cli::main()
}

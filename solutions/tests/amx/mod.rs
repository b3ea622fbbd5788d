//! AMX on a CPU without it: each of its instructions traps as an illegal one, and a signal handler does what it would do.
//! So the tests run the very machine code of canopy, on any number of threads.
//!
//! What an instruction does is in `tiles.rs`, and how it is encoded in `decode.rs`. (Intel: *Architecture Instruction Set
//! Extensions Programming Reference*, chapter on AMX.)

use std::fmt::Display;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod decode;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod handler;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod tiles;

/// Whether the code of a unit for bf16 can run here: AMX's always, on emulated tiles if need be. Says if it cannot.
pub fn runs(unit: &dyn Display, is_amx: bool, available: bool) -> bool {
    if is_amx {
        return prepare(available);
    }
    if !available {
        println!("{unit}: not run, because this machine does not have its instructions");
    }
    available
}

/// Prepares this process for AMX, which is emulated unless it is `available`. Prints which of the two. Returns false if neither
/// is possible.
pub fn prepare(available: bool) -> bool {
    if available {
        println!("AMX: this CPU has it, so its own tiles run");
        return true;
    }
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    {
        println!("AMX: this CPU does not have it, so its instructions are emulated");
        handler::install();
        true
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    {
        println!("AMX: not run, because it can be emulated on Linux on x86-64 only");
        false
    }
}

//! The end of a process that other ranks no longer answer.

/// Exits without the clean-up of libraries, which may wait for other ranks.
#[cfg(unix)]
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Exits.
#[cfg(not(unix))]
pub(super) fn exit_now(code: i32) -> ! {
    std::process::exit(code)
}

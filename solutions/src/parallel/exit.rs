//! The end of a process that other ranks no longer answer.

use std::{thread, time::Duration};

/// How long the end of a library may take if the process is about to exit.
const FAREWELL: Duration = Duration::from_secs(2);

/// Exits with `code`, if there is one, unless the process ends by itself first.
pub(super) fn exit_soon(code: Option<u8>) {
    if let Some(code) = code {
        thread::spawn(move || {
            thread::sleep(FAREWELL);
            exit_now(code.into());
        });
    }
}

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

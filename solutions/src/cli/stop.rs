//! Ctrl-C and the scheduler's signals. The first signal requests a stop, the second one kills the process.
//!
//! | signal | sent by | exit code after saving |
//! |---|---|---|
//! | SIGUSR1 | Slurm with `--signal=B:USR1@120`, through the job script, before the time limit | [`REQUEUE`] |
//! | SIGINT, SIGTERM, SIGHUP | Ctrl-C; `scancel`, preemption, shutdown | [`STOPPED`] |
//!
//! The two exit codes differ because a cancelled job must not be requeued.

use std::{
    process,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result};

/// The exit code of a run that was stopped and can be resumed.
pub const STOPPED: u8 = 130;

/// The exit code of a run that the scheduler stopped: the job should be requeued. It is EX_TEMPFAIL of sysexits.h, "the user
/// is invited to retry".
pub const REQUEUE: u8 = 75;

/// The program's one flag, and whether SIGUSR1 set it.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static BY_SCHEDULER: AtomicBool = AtomicBool::new(false);

/// The exit code of a run after it stopped and saved.
pub fn code() -> u8 {
    match BY_SCHEDULER.load(Ordering::Relaxed) {
        true => REQUEUE,
        false => STOPPED,
    }
}

/// The program's one flag that Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 set. A second signal, except SIGUSR1, kills the process;
/// files are written atomically, so none is damaged then.
///
/// # Errors
/// Returns the system's error if the handlers cannot be installed.
pub fn flag() -> Result<Arc<AtomicBool>> {
    install("\nsaving, then stopping; press Ctrl-C again to stop without saving")
}

/// As [`flag`], for a command that usually ends by Ctrl-C: no message is printed.
///
/// # Errors
/// Returns the system's error if the handlers cannot be installed.
pub fn quiet_flag() -> Result<Arc<AtomicBool>> {
    install("")
}

fn install(message: &'static str) -> Result<Arc<AtomicBool>> {
    if let Some(stop) = STOP.get() {
        return Ok(stop.clone());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let set = stop.clone();
    ctrlc::set_handler(move || {
        // Windows has no default action to restore while a handler is installed.
        if set.swap(true, Ordering::Relaxed) && cfg!(not(unix)) {
            process::exit(STOPPED.into());
        }
        #[cfg(unix)]
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: the default action, which kills the process, needs no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        if !message.is_empty() {
            note!("{message}");
        }
    })
    .context("the handler of Ctrl-C cannot be installed")?;
    let stop = STOP.get_or_init(|| stop).clone();
    #[cfg(unix)]
    catch_scheduler()?;
    Ok(stop)
}

#[cfg(unix)]
fn catch_scheduler() -> Result<()> {
    /// Sets two flags: a signal handler may do little else.
    extern "C" fn note(_: libc::c_int) {
        BY_SCHEDULER.store(true, Ordering::Relaxed);
        if let Some(stop) = STOP.get() {
            stop.store(true, Ordering::Relaxed);
        }
    }
    let handler: extern "C" fn(libc::c_int) = note;
    // SAFETY: the handler only loads and stores atomics, and STOP was set before.
    let before = unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    if before == libc::SIG_ERR {
        return Err(std::io::Error::last_os_error()).context("the handler of SIGUSR1 cannot be installed");
    }
    Ok(())
}

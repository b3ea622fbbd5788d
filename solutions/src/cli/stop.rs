//! Ctrl-C and the scheduler's signals: the first Ctrl-C asks, the second ends.
//!
//! | signal | who sends it | exit code after saving |
//! |---|---|---|
//! | SIGUSR1 | Slurm with `--signal=B:USR1@120`, through the job script, before the time is up | [`REQUEUE`] |
//! | SIGINT, SIGTERM, SIGHUP | Ctrl-C; `scancel`, preemption, shutting down | [`STOPPED`] |
//!
//! The two differ because a job that was cancelled must not come back by itself.

use std::{
    process::exit,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result};

/// The exit code of a run that was stopped and can go on.
pub const STOPPED: u8 = 130;

/// The exit code of a run that the scheduler asked to make room: the job is to be put back into the queue. It is
/// sysexits' EX_TEMPFAIL, "the user is invited to retry".
pub const REQUEUE: u8 = 75;

/// The exit code of a run that has stopped and saved.
pub fn code() -> u8 {
    if requeue::asked() { REQUEUE } else { STOPPED }
}

/// The program's one flag that Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 set. A second one, but for SIGUSR1, ends the program at
/// once; what is on disk is whole at every moment.
///
/// # Errors
/// The system's, where it takes no handler.
pub fn flag() -> Result<Arc<AtomicBool>> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(flag) = FLAG.get() {
        return Ok(flag.clone());
    }
    let flag = caught("\nstopping as soon as all is saved; press Ctrl-C again to stop at once")?;
    Ok(FLAG.get_or_init(|| flag).clone())
}

/// As [`flag`], for a command whose usual end is Ctrl-C: nothing is said. Not both in one program.
///
/// # Errors
/// The system's, where it takes no handler.
pub fn quiet_flag() -> Result<Arc<AtomicBool>> {
    caught("")
}

fn caught(say: &'static str) -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = stop.clone();
    ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            exit(i32::from(STOPPED));
        }
        if !say.is_empty() {
            eprintln!("{say}");
        }
    })
    .context("Ctrl-C cannot be caught here")?;
    requeue::catch(&stop)?;
    Ok(stop)
}

#[cfg(unix)]
mod requeue {
    use super::*;

    static ASKED: AtomicBool = AtomicBool::new(false);
    static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

    pub fn asked() -> bool {
        ASKED.load(Ordering::Relaxed)
    }

    /// Sets two flags, which is all that may be done within a signal.
    extern "C" fn note(_: libc::c_int) {
        ASKED.store(true, Ordering::Relaxed);
        if let Some(stop) = STOP.get() {
            stop.store(true, Ordering::Relaxed);
        }
    }

    pub fn catch(stop: &Arc<AtomicBool>) -> Result<()> {
        STOP.get_or_init(|| stop.clone());
        let handler: extern "C" fn(libc::c_int) = note;
        // SAFETY: the handler only loads and stores atomics, and the set-up value was stored before.
        let before = unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
        if before == libc::SIG_ERR {
            return Err(std::io::Error::last_os_error()).context("SIGUSR1 cannot be caught here");
        }
        Ok(())
    }
}

/// Slurm runs on Linux; elsewhere nobody sends the signal.
#[cfg(not(unix))]
mod requeue {
    use super::*;

    pub fn asked() -> bool {
        false
    }

    pub fn catch(_: &Arc<AtomicBool>) -> Result<()> {
        Ok(())
    }
}

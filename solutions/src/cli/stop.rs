//! Ctrl-C and the scheduler's signal: the first asks, the second ends.

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

/// The program's one flag that Ctrl-C, SIGTERM and SIGHUP set. A second one ends the program at once; what is on
/// disk is whole at every moment.
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
    Ok(stop)
}

//! Where a thread is: for a loop that does not end, and for a panic deep in somebody else's code.

/// The first line of the exercises on this thread's stack.
pub fn here() -> Option<String> {
    let mut addresses = Vec::new();
    backtrace::trace(|frame| {
        addresses.push(frame.ip() as usize);
        addresses.len() < 512
    });
    places(&addresses).student
}

#[derive(Default)]
struct Places {
    /// The innermost function that has a name.
    innermost: Option<String>,
    /// The innermost line of the exercises.
    student: Option<String>,
}

fn places(addresses: &[usize]) -> Places {
    let mut found = Places::default();
    for &address in addresses {
        backtrace::resolve(address as *mut std::ffi::c_void, |symbol| {
            let name = symbol.name().map(|n| plain(&n.to_string())).unwrap_or_default();
            let file = symbol.filename().map(|f| f.to_string_lossy().replace('\\', "/"));
            if let (Some(file), None) = (&file, &found.student)
                && let Some(at) = file.find("exercises/")
            {
                found.student = Some(format!("{}:{}", &file[at..], symbol.lineno().unwrap_or(0)));
            }
            let ours =
                name.contains("grader::stuck") || name.contains("backtrace::") || name.starts_with('_');
            if found.innermost.is_none() && found.student.is_none() && name.contains("::") && !ours {
                found.innermost = Some(name);
            }
        });
        if found.student.is_some() {
            break;
        }
    }
    found
}

/// A symbol without the hashes of either way to mangle: `std[e28293b1aa0f68bd]::sync`, `std::sync::h0123456789abcdef`.
fn plain(name: &str) -> String {
    let mut text = String::new();
    for part in name.split_inclusive(']') {
        match part.rsplit_once('[') {
            Some((head, hash)) if hash.len() == 17 => text.push_str(head),
            _ => text.push_str(part),
        }
    }
    match text.rsplit_once("::h") {
        Some((head, hash)) if hash.len() == 16 => head.to_owned(),
        _ => text,
    }
}

#[cfg(unix)]
pub use ask::Thread;

/// A thread can be asked where it is by a signal: the handler notes the addresses on its stack, and nothing more.
#[cfg(unix)]
mod ask {
    use std::{
        sync::{
            Mutex, PoisonError,
            atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        },
        thread::sleep,
        time::Duration,
    };

    use super::places;

    const DEEPEST: usize = 256;
    static ADDRESSES: [AtomicUsize; DEEPEST] = [const { AtomicUsize::new(0) }; DEEPEST];
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static DONE: AtomicBool = AtomicBool::new(false);

    /// A thread that may be asked where it is, as long as it runs.
    pub struct Thread(libc::pthread_t);

    extern "C" fn note(_: libc::c_int) {
        let mut count = 0;
        // SAFETY: only this handler traces, for one thread at a time (`place` holds a lock), and it allocates nothing.
        unsafe {
            backtrace::trace_unsynchronized(|frame| {
                ADDRESSES[count].store(frame.ip() as usize, SeqCst);
                count += 1;
                count < DEEPEST
            });
        }
        COUNT.store(count, SeqCst);
        DONE.store(true, SeqCst);
    }

    impl Thread {
        /// The thread that calls.
        pub fn this() -> Self {
            // SAFETY: has no precondition.
            Self(unsafe { libc::pthread_self() })
        }

        /// Where a thread that has not ended is: the line of the exercises, and what that line waits in.
        pub fn place(&self) -> Option<String> {
            static ONE: Mutex<()> = Mutex::new(());
            let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
            DONE.store(false, SeqCst);
            // SAFETY: the thread runs still (it sent nothing before its deadline), and the handler is async-signal-safe.
            unsafe {
                let handler = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
                libc::signal(libc::SIGURG, handler);
                libc::pthread_kill(self.0, libc::SIGURG);
            }
            for _ in 0..50 {
                if DONE.load(SeqCst) {
                    break;
                }
                sleep(Duration::from_millis(10));
            }
            if !DONE.load(SeqCst) {
                return None;
            }
            let count = COUNT.load(SeqCst);
            let addresses: Vec<usize> = ADDRESSES[..count].iter().map(|a| a.load(SeqCst)).collect();
            let found = places(&addresses);
            match (found.student, found.innermost) {
                (Some(line), Some(inner)) => Some(format!("{line}, in {inner}")),
                (line, inner) => line.or(inner),
            }
        }
    }
}

/// Elsewhere a thread cannot be asked.
#[cfg(not(unix))]
pub struct Thread;

#[cfg(not(unix))]
impl Thread {
    /// The thread that calls.
    pub fn this() -> Self {
        Self
    }

    /// Not known on this system.
    pub fn place(&self) -> Option<String> {
        None
    }
}

//! Finds where a thread is, for a function that does not end and for a panic inside a library.

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
    /// The function of a library that was called by the innermost line outside of libraries.
    call: Option<String>,
    /// Whether that line has been seen.
    called: bool,
    /// The innermost line of the exercises.
    student: Option<String>,
}

fn places(addresses: &[usize]) -> Places {
    let mut places = Places::default();
    for &address in addresses {
        backtrace::resolve(address as *mut std::ffi::c_void, |symbol| {
            let (Some(file), None) = (symbol.filename(), &places.student) else {
                return;
            };
            let file = file.to_string_lossy().replace('\\', "/");
            // Code that the compiler adds has line 0; the call that led there has one.
            let line = symbol.lineno().filter(|&line| line > 0);
            if let (Some(at), Some(line)) = (file.find("exercises/"), line) {
                places.student = Some(format!("{}:{line}", &file[at..]));
                // A line that is neither a library's nor the student's lies between: the call is not the student's.
                places.call = places.call.take().filter(|_| !places.called);
                return;
            }
            match library(&file) {
                Some(module) if !places.called && !module.is_empty() => {
                    let name = symbol.name().map(|n| n.to_string()).unwrap_or_default();
                    places.call = Some(format!("{module}::{}", plain(&name)));
                }
                None if file.starts_with('/') && !file.contains("grader/src/stuck") => places.called = true,
                _ => {}
            }
        });
        if places.student.is_some() {
            break;
        }
    }
    places
}

/// The module of a library's file: `std::sync::mpsc`; empty for glue code that every call goes through.
fn library(file: &str) -> Option<String> {
    let (name, rest) = if let Some((_, rest)) = file.split_once("/library/") {
        rest.split_once("/src/")?
    } else {
        let (_, rest) = file.split_once("/registry/src/")?.1.split_once('/')?;
        let (package, rest) = rest.split_once("/src/")?;
        (package.rsplit_once('-').map_or(package, |(name, _)| name), rest)
    };
    let glue = matches!(name, "core" | "alloc" | "backtrace")
        || rest.starts_with("sys/")
        || rest.starts_with("panic");
    if glue {
        return Some(String::new());
    }
    let module = rest
        .trim_end_matches(".rs")
        .trim_end_matches("/mod")
        .replace('/', "::");
    Some(format!("{name}::{module}"))
}

/// The likely cause if a thread does not return from a call at `location`.
pub fn why(location: &str) -> Option<&'static str> {
    const CAUSES: [(&[&str], &str); 6] = [
        (
            &["::send"],
            "The channel is full, and its receiver has ended or waits for this thread.",
        ),
        (
            &["recv", "mpsc", "channel"],
            "It waits for a message that nobody sends. A receiver waits as long as any sender exists, even one of your own: \
             drop senders that you no longer need.",
        ),
        (
            &["mutex", "rwlock"],
            "The lock is held by a thread that waits for this one, or by this thread itself: a guard lives to the end of its \
             scope. Drop it before you wait.",
        ),
        (
            &["condvar"],
            "No thread wakes it. Notify after each change, and check the condition under the lock before you wait.",
        ),
        (
            &["scope", "join"],
            "It waits for its threads, and one of them waits too: for a message although a sender still exists here, for \
             space in a channel, for a lock, or for a condition variable that nobody notifies.",
        ),
        (
            &["barrier"],
            "Fewer threads reach the barrier than it was created for.",
        ),
    ];
    let call = location.rsplit_once(", in ").map_or(location, |(_, call)| call);
    let known = CAUSES
        .iter()
        .find(|(names, _)| names.iter().any(|n| call.contains(n)));
    known.map(|(_, cause)| *cause)
}

/// The name of a function alone: `lock` of `lock<()>`, of `<std[e28293b1aa0f68bd]::sync::Mutex>::lock`.
fn plain(name: &str) -> String {
    let (mut depth, mut flat) = (0, String::new());
    for c in name.chars() {
        depth += i32::from(c == '<');
        if depth == 0 {
            flat.push(c);
        }
        depth -= i32::from(c == '>');
    }
    let parts: Vec<&str> = flat.split("::").filter(|part| !part.is_empty()).collect();
    let hash = |part: &str| part.len() == 17 && part.starts_with('h');
    parts
        .iter()
        .rev()
        .find(|part| !hash(part))
        .map_or_else(String::new, |part| (*part).to_owned())
}

#[cfg(unix)]
pub use signal::Thread;

/// A signal interrupts a thread: the handler records the addresses on its stack, and does nothing else.
#[cfg(unix)]
mod signal {
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

    /// A thread whose location can be found while it runs.
    pub struct Thread(libc::pthread_t);

    extern "C" fn note(_: libc::c_int) {
        let mut count = 0;
        // SAFETY: only this handler traces, one thread at a time (`location` holds a lock), and it allocates nothing.
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
        /// The calling thread.
        pub fn this() -> Self {
            // SAFETY: has no precondition.
            Self(unsafe { libc::pthread_self() })
        }

        /// Where a thread is that has not ended: the line of the exercises, and the function that this line called.
        pub fn location(&self) -> Option<String> {
            static ONE: Mutex<()> = Mutex::new(());
            let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
            DONE.store(false, SeqCst);
            // SAFETY: the thread still runs (it sent nothing before its deadline), and the handler is async-signal-safe.
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
            let places = places(&addresses);
            match (places.student, places.call) {
                (Some(line), Some(call)) => Some(format!("{line}, in {call}")),
                (line, call) => line.or(call),
            }
        }
    }
}

/// On other systems the location of a thread is unknown.
#[cfg(not(unix))]
pub struct Thread;

#[cfg(not(unix))]
impl Thread {
    /// The calling thread.
    pub fn this() -> Self {
        Self
    }

    /// Not known on this system.
    pub fn location(&self) -> Option<String> {
        None
    }
}

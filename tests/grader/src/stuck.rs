//! Finds where a thread is, for a function that does not end and for a panic inside a library.

/// The first line of the exercises on this thread's stack.
pub fn here() -> Option<String> {
    let mut addresses = Vec::new();
    backtrace::trace(|frame| {
        addresses.push(frame.ip() as usize);
        addresses.len() < 512
    });
    places(&addresses).0
}

/// The innermost line of the exercises, and the function of a library that it called. If there is no such line: the
/// function that the innermost line outside of libraries called.
fn places(addresses: &[usize]) -> (Option<String>, Option<String>) {
    let (mut student, mut call, mut other) = (None, None, false);
    for &address in addresses {
        backtrace::resolve(address as *mut std::ffi::c_void, |symbol| {
            let file = symbol
                .filename()
                .map(|file| file.to_string_lossy().replace('\\', "/"));
            // Code that the compiler adds has line 0; the call that led there has one.
            let (Some(file), Some(line), None) = (file, symbol.lineno().filter(|&l| l > 0), &student) else {
                return;
            };
            if let Some(at) = file.find("exercises/") {
                student = Some(format!("{}:{line}", &file[at..]));
                // A line that is neither a library's nor the student's lies between: the call is not the student's.
                call = call.take().filter(|_| !other);
            } else if !file.contains("/library/") && !file.contains("/registry/src/") {
                // The C library has relative paths.
                other |= file.starts_with('/') && !file.contains("grader/src/stuck");
            } else if let (Some((package, module)), false) = (file.rsplit_once("/src/"), other) {
                let package = package.rsplit('/').next().unwrap_or_default();
                let package = package.rsplit_once('-').map_or(package, |(name, _)| name);
                let module = module.trim_end_matches(".rs").trim_end_matches("/mod");
                let name = symbol.name().map(|name| format!("{name:#}")).unwrap_or_default();
                let place = format!("{package}/{module}/{}", plain(&name)).replace('/', "::");
                // Code that every call goes through.
                let glue = ["core::", "alloc::", "backtrace::", "std::sys::", "std::panic"];
                if !glue.iter().any(|glue| place.starts_with(glue)) {
                    call = Some(place);
                }
            }
        });
        if student.is_some() {
            break;
        }
    }
    (student, call)
}

/// The name of a function alone: `lock` of `lock<()>`, of `<std::sync::Mutex<()>>::lock`.
fn plain(name: &str) -> String {
    let (mut depth, mut plain) = (0, String::new());
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let last = plain.trim_end_matches("::").rsplit("::").next();
    last.unwrap_or_default().to_owned()
}

/// The likely cause if a thread does not return from a call at `location`.
pub fn why(location: &str) -> Option<&'static str> {
    const CAUSES: [(&str, &str); 6] = [
        (
            "::send",
            "The channel is full, and its receiver has ended or waits for this thread.",
        ),
        (
            "recv|mpsc|channel",
            "It waits for a message that nobody sends. A receiver waits as long as any sender exists, even one of your own: \
             drop senders that you no longer need.",
        ),
        (
            "mutex|rwlock",
            "The lock is held by a thread that waits for this one, or by this thread itself: a guard lives to the end of its \
             scope. Drop it before you wait.",
        ),
        (
            "condvar",
            "No thread wakes it. Notify after each change, and check the condition under the lock before you wait.",
        ),
        (
            "scope|join",
            "It waits for its threads, and one of them waits too: for a message although a sender still exists here, for \
             space in a channel, for a lock, or for a condition variable that nobody notifies.",
        ),
        (
            "barrier",
            "Fewer threads reach the barrier than it was created for.",
        ),
    ];
    let call = location.rsplit_once(", in ").map_or(location, |(_, call)| call);
    let is_in = |names: &str| names.split('|').any(|name| call.contains(name));
    let known = CAUSES.iter().find(|(names, _)| is_in(names));
    known.map(|(_, cause)| *cause)
}

pub use signal::{Thread, location, this};

/// A signal interrupts a thread: the handler records the addresses on its stack, and does nothing else.
#[cfg(unix)]
mod signal {
    use std::{
        sync::{
            Mutex, PoisonError,
            atomic::{AtomicUsize, Ordering::SeqCst},
        },
        thread::sleep,
        time::Duration,
    };

    /// A thread whose location can be found while it runs.
    pub type Thread = libc::pthread_t;

    static ADDRESSES: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];
    /// The number of addresses, 0 before they are recorded.
    static COUNT: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn note(_: libc::c_int) {
        let mut count = 0;
        // SAFETY: only this handler traces, one thread at a time (`location` holds a lock), and it allocates nothing.
        unsafe {
            backtrace::trace_unsynchronized(|frame| {
                ADDRESSES[count].store(frame.ip() as usize, SeqCst);
                count += 1;
                count < ADDRESSES.len()
            });
        }
        COUNT.store(count, SeqCst);
    }

    /// The calling thread.
    pub fn this() -> Thread {
        // SAFETY: has no precondition.
        unsafe { libc::pthread_self() }
    }

    /// Where a thread is that has not ended: the line of the exercises, and the function that this line called.
    pub fn location(thread: Thread) -> Option<String> {
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        COUNT.store(0, SeqCst);
        // SAFETY: the thread still runs (it sent nothing before its deadline), and the handler is async-signal-safe.
        unsafe {
            let handler = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::signal(libc::SIGURG, handler);
            libc::pthread_kill(thread, libc::SIGURG);
        }
        let recorded = |_: &i32| {
            COUNT.load(SeqCst) > 0 || {
                sleep(Duration::from_millis(10));
                false
            }
        };
        // On a loaded machine the thread may get its turn late.
        (0..300).find(recorded)?;
        let addresses = ADDRESSES[..COUNT.load(SeqCst)].iter();
        let addresses: Vec<usize> = addresses.map(|a| a.load(SeqCst)).collect();
        match super::places(&addresses) {
            (Some(line), Some(call)) => Some(format!("{line}, in {call}")),
            (line, call) => line.or(call),
        }
    }
}

/// On other systems the location of a thread is unknown.
#[cfg(not(unix))]
mod signal {
    #[derive(Clone, Copy)]
    pub struct Thread;

    pub fn this() -> Thread {
        Thread
    }

    pub fn location(_: Thread) -> Option<String> {
        None
    }
}

//! Finds where a thread is, for a function that does not end and for a panic inside a library.

#[cfg(unix)]
use std::os::unix::thread::JoinHandleExt;
use std::{ffi::c_void, thread::JoinHandle};

/// The first line of the exercises on this thread's stack.
pub fn here() -> Option<String> {
    let mut addresses = Vec::new();
    backtrace::trace(|frame| {
        addresses.push(frame.ip() as usize);
        addresses.len() < 512
    });
    places(&addresses).0
}

/// The innermost line of the exercises, and the function of a library that the innermost line outside of libraries called.
fn places(addresses: &[usize]) -> (Option<String>, Option<String>) {
    // Code that every call goes through.
    let glue = ["core::", "alloc::", "backtrace", "std::sys::", "std::panic"];
    let (mut student, mut call, mut outside) = (None, None, false);
    for &address in addresses {
        backtrace::resolve(address as *mut c_void, |symbol| {
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
                call = call.take().filter(|_| !outside);
            } else if !file.contains("/library/") && !file.contains("/registry/src/") {
                // The C library has relative paths.
                outside |= file.starts_with('/') && !file.contains("grader/src/stuck");
            } else if let (Some((package, module)), false) = (file.rsplit_once("/src/"), outside) {
                let name = symbol.name().map(|name| format!("{name:#}")).unwrap_or_default();
                // `lock` of `<std::sync::Mutex<()>>::lock`, of `std::sync::Mutex::lock::<()>` and of `lock<()>`
                let path = name.split("::<").next().unwrap_or_default();
                let function = path.rsplit("::").next().unwrap_or_default();
                let function = function.split('<').next().unwrap_or_default();
                let package = package.rsplit('/').next().unwrap_or_default();
                let module = module.trim_end_matches(".rs").trim_end_matches("/mod");
                let place = format!("{package}::{}::{function}", module.replace('/', "::"));
                if !glue.iter().any(|glue| place.starts_with(glue)) {
                    call = Some(place);
                }
            }
        });
    }
    (student, call)
}

/// The likely cause if a thread does not return from a call at `location`.
pub fn why(location: &str) -> Option<&'static str> {
    let call = location.rsplit_once(", in ").map_or(location, |(_, call)| call);
    let is_in = |names: &[&str]| names.iter().any(|name| call.contains(name));
    if is_in(&["mutex", "rwlock"]) {
        return Some(
            "The lock is held by a thread that waits for this one, or by this thread itself: a guard lives to the end of its \
             scope. Drop it before you wait.",
        );
    }
    is_in(&["::send", "recv", "mpsc", "channel", "condvar", "barrier", "scope", "join"]).then_some(
        "It waits for a message, for space in a channel, for a notification, or for a thread that waits itself. A receiver \
         waits as long as any sender exists, even one of your own: drop senders that you no longer need.",
    )
}

/// Where a thread is that has not ended: the line of the exercises, and the function that this line called.
#[cfg(unix)]
pub fn location<T>(thread: &JoinHandle<T>) -> Option<String> {
    match places(&signal::addresses(thread.as_pthread_t())?) {
        (Some(line), Some(call)) => Some(format!("{line}, in {call}")),
        (line, call) => line.or(call),
    }
}

/// On other systems it is unknown.
#[cfg(not(unix))]
pub fn location<T>(_: &JoinHandle<T>) -> Option<String> {
    None
}

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

    static ADDRESSES: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];
    /// The number of addresses, 0 before they are recorded.
    static COUNT: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn note(_: libc::c_int) {
        let mut count = 0;
        // SAFETY: only this handler traces, one thread at a time (`addresses` holds a lock), and it allocates nothing.
        unsafe {
            backtrace::trace_unsynchronized(|frame| {
                ADDRESSES[count].store(frame.ip() as usize, SeqCst);
                count += 1;
                count < ADDRESSES.len()
            });
        }
        COUNT.store(count, SeqCst);
    }

    pub fn addresses(thread: libc::pthread_t) -> Option<Vec<usize>> {
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        COUNT.store(0, SeqCst);
        // SAFETY: its handle has not been joined, so that its id is valid, and the handler is async-signal-safe.
        unsafe {
            let handler = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::signal(libc::SIGURG, handler);
            libc::pthread_kill(thread, libc::SIGURG);
        }
        // On a loaded machine the thread may get its turn late.
        for _ in 0..300 {
            if COUNT.load(SeqCst) > 0 {
                let addresses = ADDRESSES[..COUNT.load(SeqCst)].iter();
                return Some(addresses.map(|address| address.load(SeqCst)).collect());
            }
            sleep(Duration::from_millis(10));
        }
        None
    }
}

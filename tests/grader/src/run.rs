//! Runs one check on a thread of its own, with a deadline, and returns its outcome.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::{
        Arc, Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::{Draw, Finding, Verdict, Wrong, stuck};

/// The outcome of a check.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The answer has the property.
    Passed,
    /// The student's function is not written yet, or, if this names another exercise, that of another exercise which it calls.
    ToDo(Option<String>),
    /// The answer does not have the property.
    Wrong(Box<Wrong>),
    /// The check could not run; why.
    NotRun(String),
    /// The student's function panicked.
    Panicked {
        /// The message of the panic.
        message: String,
        /// The student's file and line, if one is on the stack.
        location: String,
        /// The input in short.
        input: String,
    },
    /// The student's function did not end in time.
    Stuck {
        /// The deadline.
        deadline: Duration,
        /// Where it was, if known.
        location: Option<String>,
        /// The input in short.
        input: String,
    },
}

/// What the thread of a check shares with the thread that waits for it.
struct Running {
    seed: u64,
    check: String,
    input: Mutex<Option<String>>,
    panic: Mutex<Option<(String, String)>>,
    thread: Mutex<Option<stuck::Thread>>,
}

thread_local! {
    static NOW: RefCell<Option<Arc<Running>>> = const { RefCell::new(None) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> Option<Arc<Running>> {
    NOW.with(|now| now.borrow().clone())
}

pub(crate) fn note_input(input: &str) {
    if let Some(now) = now() {
        *lock(&now.input) = Some(input.to_owned());
    }
}

pub(crate) fn input_now() -> Option<String> {
    now().and_then(|now| lock(&now.input).clone())
}

pub(crate) fn draw_now() -> Draw {
    match now() {
        Some(now) => Draw::new(now.seed, &now.check),
        None => Draw::new(0, ""),
    }
}

/// The grader reports panics of checks, and the previous hook reports those of a student's threads. Panics of the
/// course's own threads (of a check, or of a known mistake that runs to find a cause) are not printed.
fn hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("RAYON_NUM_THREADS").is_none() {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            // Without it candle 0.11 counts the cores in each matrix product, by reading /proc/cpuinfo.
            // SAFETY: no check runs yet, and the other threads of this process read the environment through std alone.
            unsafe { std::env::set_var("RAYON_NUM_THREADS", cores.to_string()) };
        }
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| match now() {
            Some(now) => *lock(&now.panic) = Some((panic_message(info), location(info))),
            None if info.location().is_some_and(|l| is_own(l.file())) || QUIET.load(SeqCst) > 0 => {}
            None => usual(info),
        }));
    });
}

/// The number of known mistakes that run now.
static QUIET: AtomicUsize = AtomicUsize::new(0);

/// Runs known mistakes without printing the panics of their threads.
pub(crate) fn quietly<T>(run: impl FnOnce() -> T) -> T {
    hook();
    QUIET.fetch_add(1, SeqCst);
    let result = run();
    QUIET.fetch_sub(1, SeqCst);
    result
}

fn is_own(file: &str) -> bool {
    file.replace('\\', "/").starts_with("lessons/lesson")
}

fn panic_message(info: &PanicHookInfo) -> String {
    let text = info.payload_as_str().unwrap_or("a panic without a message");
    let lines: Vec<&str> = without_backtrace(text).collect();
    lines.join("\n").trim_end().to_owned()
}

/// The lines of an error, without the backtrace that candle and anyhow append if `RUST_BACKTRACE` is set.
pub(crate) fn without_backtrace(text: &str) -> impl Iterator<Item = &str> {
    let begins = |line: &str| line.trim_start().starts_with("0: ") || line.starts_with("Stack backtrace:");
    text.lines().take_while(move |line| !begins(line))
}

/// The line of the panic, or, if that is not in the exercises, the line of the exercises that led there.
fn location(info: &PanicHookInfo) -> String {
    let at = info.location().map_or("an unknown line".into(), |l| {
        format!("{}:{}", l.file().replace('\\', "/"), l.line())
    });
    if at.contains("exercises/") || panic_message(info).starts_with("not yet implemented") {
        return at;
    }
    stuck::here().unwrap_or(at)
}

/// Runs `check` on its own thread. A thread that does not end before the deadline is abandoned until the process exits.
pub fn run<C: Copy + Send + 'static>(
    name: &str,
    check: fn(&C) -> Verdict,
    answer: C,
    seed: u64,
    deadline: Duration,
) -> Outcome {
    hook();
    let running = Arc::new(Running {
        seed,
        check: name.to_owned(),
        input: Mutex::default(),
        panic: Mutex::default(),
        thread: Mutex::default(),
    });
    let (send, receive) = mpsc::channel();
    let theirs = running.clone();
    // The message of a stack overflow has the name. An answer can read it, so that it must not name the check.
    let thread_name = format!("exercise {}", name.split("::").next().unwrap_or(name));
    let spawned = thread::Builder::new().name(thread_name).spawn(move || {
        *lock(&theirs.thread) = Some(stuck::Thread::this());
        // Rayon's tasks run on this thread: the inputs of checks are so small that handing a task to another thread and
        // waiting for it takes longer than the task, and the checks run side by side.
        let _alone = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build();
        NOW.with(|now| *now.borrow_mut() = Some(theirs));
        panic::catch_unwind(AssertUnwindSafe(|| check(&answer)))
    });
    // The verdict counts when the thread has ended, because destructors of its thread-local values run only then.
    let ended = spawned.and_then(|checking| {
        thread::Builder::new().spawn(move || send.send(checking.join().and_then(|verdict| verdict)))
    });
    if let Err(error) = ended {
        return Outcome::NotRun(format!("no thread could be started: {error}"));
    }
    let input = || lock(&running.input).clone().unwrap_or_default();
    match receive.recv_timeout(deadline) {
        Ok(Ok(Ok(()))) => Outcome::Passed,
        Ok(Ok(Err(Finding::Wrong(wrong)))) => Outcome::Wrong(wrong),
        Ok(Ok(Err(Finding::NotRun(why)))) => Outcome::NotRun(why),
        Ok(Err(payload)) => {
            // Dropping the payload of a student's panic may panic again.
            std::mem::forget(payload);
            match lock(&running.panic).take() {
                Some((message, _)) if message.starts_with("not yet implemented") => {
                    Outcome::ToDo(exercise_of(&message).map(str::to_owned))
                }
                note => {
                    let (message, location) = note.unwrap_or_default();
                    Outcome::Panicked {
                        message,
                        location,
                        input: input(),
                    }
                }
            }
        }
        Err(mpsc::RecvTimeoutError::Timeout) => Outcome::Stuck {
            deadline,
            location: lock(&running.thread).as_ref().and_then(stuck::Thread::location),
            input: input(),
        },
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Outcome::NotRun("its thread ended without a result".into())
        }
    }
}

/// The exercise that a stub names: "9.3" in "not yet implemented: 9.3: reduce-scatter".
fn exercise_of(message: &str) -> Option<&str> {
    let id = message.strip_prefix("not yet implemented: ")?.split(':').next()?;
    let is_id = |(lesson, number): (&str, &str)| lesson.parse::<u8>().is_ok() && number.parse::<u8>().is_ok();
    id.split_once('.').is_some_and(is_id).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_before_its_backtrace() {
        for text in [
            "out of range\n   0: f\n   1: g",
            "out of range\n\nStack backtrace:\n   0: f",
        ] {
            let lines: Vec<&str> = without_backtrace(text).filter(|l| !l.is_empty()).collect();
            assert_eq!(lines, ["out of range"]);
        }
        assert_eq!(without_backtrace("two\nlines").count(), 2);
    }
}

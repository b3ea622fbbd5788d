//! Runs one check on a thread of its own, with a deadline, and returns its outcome.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, mpsc},
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

impl Outcome {
    /// Whether the check ran, and did not pass.
    pub(crate) fn failed(&self) -> bool {
        !matches!(self, Self::Passed | Self::NotRun(_))
    }
}

/// What the thread of a check shares with the thread that waits for it.
#[derive(Default)]
struct Running {
    seed: u64,
    check: String,
    input: String,
    panic: Option<(String, String)>,
    thread: Option<stuck::Thread>,
}

thread_local! {
    static NOW: RefCell<Option<Arc<Mutex<Running>>>> = const { RefCell::new(None) };
}

fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads or writes what is known of the check that runs on this thread, if one does.
fn now<T>(with: impl FnOnce(&mut Running) -> T) -> Option<T> {
    let now = NOW.try_with(|now| now.borrow().clone()).ok().flatten();
    now.map(|now| with(&mut lock(&now)))
}

pub(crate) fn note_input(input: &str) {
    now(|now| input.clone_into(&mut now.input));
}

pub(crate) fn input_now() -> String {
    now(|now| now.input.clone()).unwrap_or_default()
}

pub(crate) fn draw_now() -> Draw {
    now(|now| Draw::new(now.seed, &now.check)).unwrap_or(Draw::new(0, ""))
}

/// The grader reports panics of checks, and the previous hook reports those of a student's threads. Panics of the
/// course's own threads (of a check, or of a known mistake that runs to find a cause) have no name, and no line of an
/// exercise on their stack: they are not printed.
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
        panic::set_hook(Box::new(move |info| {
            let of_check = now(|now| now.panic = Some((panic_message(info), location(info))));
            let named = thread::current().name().is_some();
            if of_check.is_none() && (named || stuck::here().is_some()) {
                usual(info);
            }
        }));
    });
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
    if at.contains("exercises/") || panic_message(info).starts_with(TO_DO) {
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
    let running = Arc::new(Mutex::new(Running {
        seed,
        check: name.to_owned(),
        ..Running::default()
    }));
    let (send, receive) = mpsc::channel();
    let theirs = running.clone();
    // The message of a stack overflow has the name. An answer can read it, so that it must not name the check.
    let thread_name = format!("exercise {}", name.split("::").next().unwrap_or(name));
    let spawned = thread::Builder::new().name(thread_name).spawn(move || {
        lock(&theirs).thread = Some(stuck::this());
        // Rayon's tasks run on this thread: the inputs of checks are so small that handing a task to another thread and
        // waiting for it takes longer than the task, and the checks run side by side.
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1);
        let _alone = alone.use_current_thread().build();
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
    let result = receive.recv_timeout(deadline);
    let (input, panic, thread) = {
        let mut running = lock(&running);
        (running.input.clone(), running.panic.take(), running.thread)
    };
    match result {
        Ok(Ok(Ok(()))) => Outcome::Passed,
        Ok(Ok(Err(Finding::Wrong(wrong)))) => Outcome::Wrong(wrong),
        Ok(Ok(Err(Finding::NotRun(why)))) => Outcome::NotRun(why),
        Ok(Err(payload)) => {
            // Dropping the payload of a student's panic may panic again.
            std::mem::forget(payload);
            let (message, location) = panic.unwrap_or_default();
            if message.starts_with(TO_DO) {
                return Outcome::ToDo(exercise_of(&message).map(str::to_owned));
            }
            Outcome::Panicked {
                message,
                location,
                input,
            }
        }
        Err(mpsc::RecvTimeoutError::Timeout) => Outcome::Stuck {
            deadline,
            location: thread.and_then(stuck::location),
            input,
        },
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Outcome::NotRun("its thread ended without a result".into())
        }
    }
}

/// How the message of a `todo!` begins.
const TO_DO: &str = "not yet implemented";

/// The exercise that a stub names: "9.3" in "not yet implemented: 9.3: reduce-scatter".
fn exercise_of(message: &str) -> Option<&str> {
    let id = message.strip_prefix("not yet implemented: ")?.split(':').next()?;
    (id.contains('.') && id.parse::<f32>().is_ok()).then_some(id)
}

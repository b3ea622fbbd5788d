//! Runs one check on a thread of its own, with a deadline, and returns its outcome.

use std::{
    cell::RefCell,
    mem,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use crate::{Finding, Verdict, Wrong, stuck};

/// The outcome of a check.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The answer has the property.
    Passed,
    /// The student's function is not written yet, or, if this names another exercise, that of another exercise which it calls.
    ToDo(Option<String>),
    /// The answer does not have the property.
    Wrong(Box<Wrong>),
    /// The student's function panicked.
    Panicked(Box<Wrong>),
    /// The student's function did not end in time.
    Stuck(Box<Wrong>),
    /// The check did not run; why.
    NotRun(String),
}

impl Outcome {
    /// Whether the check ran, and did not pass.
    pub(crate) fn failed(&self) -> bool {
        !matches!(self, Self::Passed | Self::NotRun(_))
    }

    /// What a wrong answer, a panic or a call that did not end has wrong.
    pub(crate) fn wrong(&self) -> Option<&Wrong> {
        match self {
            Self::Wrong(wrong) | Self::Panicked(wrong) | Self::Stuck(wrong) => Some(wrong),
            _ => None,
        }
    }

    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Passed => "right",
            Self::ToDo(_) => "to do",
            Self::NotRun(_) => "not run",
            _ => "wrong",
        }
    }
}

/// What the thread of a check shares with the thread that waits for it.
#[derive(Default)]
pub(crate) struct Running {
    pub seed: u64,
    pub check: String,
    pub input: String,
    /// Where it panicked.
    panic: Option<String>,
    /// The time for compilers, which does not count for the deadline.
    compilers: Duration,
}

thread_local! {
    static NOW: RefCell<Option<Arc<Mutex<Running>>>> = const { RefCell::new(None) };
}

fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads or writes what is known of the check that runs on this thread, if one does.
pub(crate) fn now<T>(with: impl FnOnce(&mut Running) -> T) -> Option<T> {
    let now = NOW.try_with(|now| now.borrow().clone()).ok().flatten();
    now.map(|now| with(&mut lock(&now)))
}

/// The grader reports panics of checks, and the previous hook reports those of a student's threads. Panics of the
/// course's own threads (of a check, or of a known mistake that runs to find a cause) have no name, and no line of an
/// exercise on their stack: they are not printed.
fn hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let cores = thread::available_parallelism().map_or(1, usize::from).to_string();
        // Without the first, candle 0.11 counts the cores in each matrix product, by reading /proc/cpuinfo. Without the second,
        // its errors and those of anyhow have a backtrace if RUST_BACKTRACE is set.
        for (name, value) in [("RAYON_NUM_THREADS", &*cores), ("RUST_LIB_BACKTRACE", "0")] {
            if std::env::var_os(name).is_none() {
                // SAFETY: no check runs yet, and the other threads of this process read the environment through std alone.
                unsafe { std::env::set_var(name, value) };
            }
        }
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let of_check = now(|now| now.panic = Some(location(info)));
            let named = thread::current().name().is_some();
            if of_check.is_none() && (named || stuck::here().is_some()) {
                usual(info);
            }
        }));
    });
}

/// The line of the panic, or, if that is not in the exercises, the line of the exercises that led there.
fn location(info: &PanicHookInfo) -> String {
    let at = info.location().map_or("an unknown line".into(), |l| {
        format!("{}:{}", l.file().replace('\\', "/"), l.line())
    });
    let of_student = stuck::here().filter(|_| !at.contains("exercises/"));
    of_student.unwrap_or(at)
}

/// The text of an error in one line.
pub(crate) fn in_one_line(text: &str) -> String {
    text.trim_end().replace('\n', " ")
}

/// Whether a text has the message of a stub's `todo!`, and the exercise that it names: "9.3" in "not yet implemented: 9.3: …".
fn to_do(text: &str) -> Option<Option<String>> {
    let (_, rest) = text.split_once("not yet implemented")?;
    let id = rest.strip_prefix(": ").and_then(|rest| rest.split(':').next());
    let id = id.filter(|id| id.contains('.') && id.parse::<f32>().is_ok());
    Some(id.map(str::to_owned))
}

/// Runs a compiler for the check on this thread: up to a minute of it does not count for the deadline.
pub fn compiling<T>(work: impl FnOnce() -> T) -> T {
    let (begin, most) = (Instant::now(), Duration::from_secs(60));
    now(|now| now.compilers += most);
    let result = work();
    now(|now| now.compilers = now.compilers + begin.elapsed() - most);
    result
}

/// The payload of [`not_run`].
struct NotRun(String);

/// Ends the check that runs on this thread: it cannot run on this machine, and `why` says what is missing.
pub fn not_run(why: impl Into<String>) -> ! {
    panic::resume_unwind(Box::new(NotRun(why.into())))
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
    let theirs = running.clone();
    let (send, receive) = mpsc::channel();
    // The message of a stack overflow has the name. An answer can read it, so that it must not name the check.
    let thread_name = format!("exercise {}", name.split("::").next().unwrap_or(name));
    let spawned = thread::Builder::new().name(thread_name).spawn(move || {
        // Rayon's tasks run on this thread: the inputs of checks are so small that handing a task to another thread and
        // waiting for it takes longer than the task, and the checks run side by side.
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1);
        let _alone = alone.use_current_thread().build();
        NOW.with(|now| *now.borrow_mut() = Some(theirs));
        send.send(panic::catch_unwind(AssertUnwindSafe(|| check(&answer))))
    });
    let checking = match spawned {
        Ok(checking) => checking,
        Err(error) => return Outcome::NotRun(format!("no thread could be started: {error}")),
    };
    let (begin, mut wrong) = (Instant::now(), Finding::default());
    let verdict = loop {
        let end = deadline + lock(&running).compilers;
        let left = end.saturating_sub(begin.elapsed());
        let ended = receive.recv_timeout(left);
        wrong.input.clone_from(&lock(&running).input);
        match ended {
            Ok(verdict) => break verdict,
            // A compiler may have started since.
            Err(_) if left > Duration::ZERO => {}
            Err(_) => {
                wrong.at = stuck::location(&checking).or(Some("an unknown line".into()));
                return Outcome::Stuck(wrong);
            }
        }
    };
    match verdict {
        Ok(Ok(())) => Outcome::Passed,
        // A panic on the thread of a rank is part of the verdict.
        Ok(Err(wrong)) => match wrong.lines.iter().find_map(|line| to_do(line)) {
            Some(called) => Outcome::ToDo(called),
            None => Outcome::Wrong(wrong),
        },
        Err(payload) => {
            if let Some(NotRun(why)) = payload.downcast_ref() {
                return Outcome::NotRun(why.clone());
            }
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            // Dropping the payload of a student's panic may panic again.
            mem::forget(payload);
            let message = text.unwrap_or("a panic without a message".into());
            if let Some(called) = to_do(&message) {
                return Outcome::ToDo(called);
            }
            wrong.at = lock(&running).panic.take();
            wrong.lines = vec![format!("panic     {}", in_one_line(&message))];
            Outcome::Panicked(wrong)
        }
    }
}

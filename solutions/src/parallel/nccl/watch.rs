//! Watches the operations in flight: NCCL says nothing about a rank that never comes, so a thread of each rank aborts the
//! communicator at a deadline.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::calls::Calls;

/// How often the watcher looks.
const LOOK: Duration = Duration::from_millis(10);

/// What other ranks know of this one, and this one of them, besides NCCL.
pub trait Life: Send + Sync {
    /// This rank does `activity`.
    fn works(&self, activity: &str);

    /// This rank has waited in `operation` for `waited`. Returns why it waits in vain, if that is known.
    fn waits(&self, operation: &str, waited: Duration) -> Option<String>;
}

/// What all communicators of a process share.
pub struct Common {
    pub rank: usize,
    pub life: Option<Box<dyn Life>>,
    deadline: Mutex<Duration>,
    activity: Mutex<String>,
    /// Why the engine has ended.
    cause: OnceLock<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Common {
    pub fn new(rank: usize, deadline: Duration, life: Option<Box<dyn Life>>) -> Arc<Self> {
        Arc::new(Self {
            rank,
            life,
            deadline: Mutex::new(deadline),
            activity: Mutex::new("starting".into()),
            cause: OnceLock::new(),
        })
    }

    pub fn set_deadline(&self, deadline: Duration) {
        *lock(&self.deadline) = deadline;
    }

    pub fn deadline(&self) -> Duration {
        *lock(&self.deadline)
    }

    pub fn works(&self, activity: &str) {
        activity.clone_into(&mut lock(&self.activity));
        if let Some(life) = &self.life {
            life.works(activity);
        }
    }

    /// # Errors
    /// Returns the cause if the engine has ended.
    pub fn check(&self) -> Result<()> {
        match self.cause.get() {
            Some(cause) => bail!("{cause}"),
            None => Ok(()),
        }
    }
}

/// An operation in flight.
struct Flying<M> {
    name: String,
    number: u64,
    mark: M,
}

struct Queue<M> {
    started: u64,
    flying: VecDeque<Flying<M>>,
    /// For how long the first one is the first; time in which this process was suspended does not count.
    waited: Duration,
}

/// One communicator with its operations in flight.
pub struct Watch<C: Calls> {
    pub calls: C,
    pub common: Arc<Common>,
    queue: Mutex<Queue<C::Mark>>,
    aborted: AtomicBool,
}

impl<C: Calls> Watch<C> {
    /// Starts the watcher. It ends with the last use of what this returns.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(calls: C, common: Arc<Common>) -> Result<Arc<Self>> {
        let this = Arc::new(Self {
            calls,
            common,
            queue: Mutex::new(Queue {
                started: 0,
                flying: VecDeque::new(),
                waited: Duration::ZERO,
            }),
            aborted: AtomicBool::new(false),
        });
        let watched = Arc::downgrade(&this);
        let named = thread::Builder::new().name(format!("rank-{}-nccl", this.common.rank));
        named
            .spawn(move || look(&watched))
            .context("cannot start the thread that watches NCCL")?;
        Ok(this)
    }

    /// Notes an operation that was queued, and returns its number.
    pub fn note(&self, name: String, mark: C::Mark) -> u64 {
        let mut queue = lock(&self.queue);
        queue.started += 1;
        let number = queue.started;
        if queue.flying.is_empty() {
            queue.waited = Duration::ZERO;
        }
        queue.flying.push_back(Flying { name, number, mark });
        number
    }

    /// Ends the engine, unless it has ended, and this communicator with it.
    pub fn fail(&self, cause: String) {
        self.common.cause.get_or_init(|| cause);
        if !self.aborted.swap(true, Ordering::Relaxed) {
            self.calls.abort();
        }
    }

    /// Looks at the operations in flight; `since` has passed after the last look.
    fn look(&self, since: Duration) {
        if self.common.check().is_err() {
            return self.fail(String::new());
        }
        if let Err(cause) = self.progress(since) {
            self.fail(format!("{cause:#}"));
        }
    }

    fn progress(&self, since: Duration) -> Result<()> {
        let rank = self.common.rank;
        let mut queue = lock(&self.queue);
        let activity = || lock(&self.common.activity).clone();
        queue.waited += since;
        let mut reached = Ok(true);
        while let Some(first) = queue.flying.front() {
            reached = self.calls.has_reached(&first.mark);
            if !matches!(reached, Ok(true)) {
                break;
            }
            queue.flying.pop_front();
            queue.waited = Duration::ZERO;
        }
        // NCCL's own error says more than that of the device after it.
        if let Some(error) = self.calls.error() {
            let operation = match queue.flying.front() {
                Some(first) => format!("{} (operation {})", first.name, first.number),
                None => "no operation".into(),
            };
            bail!(
                "rank {rank}: NCCL failed in {operation}, after: {}: {error}",
                activity()
            );
        }
        reached?;
        let Some(first) = queue.flying.front() else {
            return Ok(());
        };
        let why = match &self.common.life {
            Some(life) => life.waits(&first.name, queue.waited),
            None => None,
        };
        if let Some(why) = why {
            bail!("{why}");
        }
        // Who gives signs of life also says who is missing, which may take twice the deadline.
        let patience = if self.common.life.is_some() { 3 } else { 1 };
        if queue.waited >= patience * self.common.deadline() {
            bail!(
                "rank {rank} has waited for other ranks for {:.1} s in {} over NCCL (operation {}), after: {}. Another rank \
                 has ended, stalled, or makes other calls: its own message says why",
                queue.waited.as_secs_f64(),
                first.name,
                first.number,
                activity()
            );
        }
        Ok(())
    }
}

fn look<C: Calls>(watched: &Weak<Watch<C>>) {
    let mut last = Instant::now();
    loop {
        thread::sleep(LOOK);
        let Some(watch) = watched.upgrade() else {
            return;
        };
        let since = last.elapsed().min(10 * LOOK);
        last = Instant::now();
        watch.look(since);
        if watch.aborted.load(Ordering::Relaxed) {
            return;
        }
    }
}

impl<C: Calls> Drop for Watch<C> {
    /// Nobody waits for its operations any more.
    fn drop(&mut self) {
        if !self.aborted.swap(true, Ordering::Relaxed) {
            self.calls.abort();
        }
    }
}

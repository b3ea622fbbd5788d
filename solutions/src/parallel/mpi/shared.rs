//! What all links of a process share: the lock around MPI, waiting, and the end of the job.

use std::{
    fmt::Arguments,
    mem::ManuallyDrop,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ferrompi::{Communicator, Request, Result};

use super::life::Life;

/// So often an operation is polled without a look at the clock: an exchange within a node takes microseconds, and yielding the core
/// may take longer.
const SPINS: usize = 100;
/// For this long it is then polled without a pause.
const EAGER: Duration = Duration::from_millis(1);
/// The pause between two polls after that. It leaves the core to the thread that computes.
const PAUSE: Duration = Duration::from_micros(100);
/// The time in which a rank that ends the job ends this one too.
const FAREWELL: Duration = Duration::from_secs(5);
/// How often a waiting rank looks at the signs of life.
const LOOK: Duration = Duration::from_millis(10);

/// The lock around MPI, and the signs of life.
pub struct Shared {
    world: Communicator,
    /// Whoever holds this lock may call MPI. The communicator inside is freed by `MPI_Finalize`.
    life: Mutex<ManuallyDrop<Life>>,
    has_begun: AtomicBool,
    /// Asks this process to stop.
    pub stop: OnceLock<Arc<AtomicBool>>,
}

impl Shared {
    pub fn new(world: Communicator) -> Result<Self> {
        let life = ManuallyDrop::new(Life::new(world.duplicate()?));
        let life = Mutex::new(life);
        Ok(Self {
            world,
            life,
            has_begun: AtomicBool::new(false),
            stop: OnceLock::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, ManuallyDrop<Life>> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls MPI.
    pub fn call<T>(&self, call: impl FnOnce() -> T) -> T {
        let _lock = self.lock();
        call()
    }

    /// Sets the deadline, and ends [`Self::give_signs_until_it_begins`].
    pub fn begin(&self, deadline: Duration) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.lock().deadline = deadline;
    }

    /// Gives signs of life while this process reads its data: that may take much longer on one rank than on others.
    pub fn give_signs_until_it_begins(&self) {
        while !self.has_begun.load(Ordering::Relaxed) {
            self.works("starting");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Reports what this rank is about to do.
    pub fn works(&self, activity: &str) {
        let mut life = self.lock();
        self.notice_a_stop(&mut life);
        let sent = life.works(activity);
        drop(life);
        sent.unwrap_or_else(|error| self.fail(format_args!("a sign of life"), &error));
    }

    fn notice_a_stop(&self, life: &mut Life) {
        if self.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            life.stops();
        }
    }

    /// Gives a sign of life of a rank that has waited in `operation` over NCCL for `waited`. Returns why it waits in vain, if that is
    /// known, or after three times the deadline: the signs of life say who is missing, which may take twice as long.
    #[cfg(feature = "nccl")]
    pub fn waits(&self, operation: &str, waited: Duration) -> Option<String> {
        let mut life = self.lock();
        if let Err(error) = life.receive().and_then(|()| life.waits(operation)) {
            return Some(format!("MPI failed in a sign of life: {error}"));
        }
        let cause = life.cause(waited, operation);
        cause.or_else(|| {
            (waited >= 3 * life.deadline).then(|| {
                format!(
                    "rank {} has waited for other ranks for {:.1} s in {operation} over NCCL, after: {}. Another rank has ended, \
                     stalled, or makes other calls: its own message says why",
                    self.world.rank(),
                    waited.as_secs_f64(),
                    life.activity
                )
            })
        })
    }

    /// Starts an operation and does not wait for it.
    pub fn start<T>(&self, operation: Arguments, start: impl FnOnce() -> Result<T>) -> T {
        self.call(start)
            .unwrap_or_else(|error| self.fail(operation, &error))
    }

    /// Starts `operation` and waits until MPI has completed it. Ends the job on all ranks if a rank misses the deadline or MPI
    /// fails: so what `start` borrows outlives the operation.
    pub fn complete(&self, operation: Arguments, start: impl FnOnce() -> Result<Request>) {
        let request = self.start(operation, start);
        let done = self.wait(operation, ManuallyDrop::new(request));
        done.unwrap_or_else(|error| self.fail(operation, &error));
    }

    /// A request that fails or never completes is not dropped, because that would wait for it.
    fn wait(&self, operation: Arguments, mut request: ManuallyDrop<Request>) -> Result<()> {
        for _ in 0..SPINS {
            if self.call(|| request.test())? {
                return Ok(());
            }
        }
        let began = Instant::now();
        let mut waited = Duration::ZERO;
        let mut last_look = began;
        loop {
            let mut life = self.lock();
            if request.test()? {
                return Ok(());
            }
            let since = last_look.elapsed();
            if since >= LOOK {
                last_look = Instant::now();
                // As in `Life`: time in which this process was suspended does not count.
                waited += since.min(10 * LOOK);
                let operation = operation.to_string();
                self.notice_a_stop(&mut life);
                life.receive()?;
                life.waits(&operation)?;
                if let Some(note) = life.unanswered() {
                    note!("note: {note}");
                }
                if let Some(cause) = life.cause(waited, &operation) {
                    drop(life);
                    self.abort(&cause);
                }
            }
            drop(life);
            if began.elapsed() < EAGER {
                thread::yield_now();
            } else {
                thread::sleep(PAUSE);
            }
        }
    }

    fn fail(&self, operation: Arguments, error: &ferrompi::Error) -> ! {
        let rank = self.world.rank();
        self.abort(&format!("rank {rank}: MPI failed in {operation}: {error}"))
    }

    /// Prints `cause` and ends the job on all ranks. Often several ranks notice the same cause: the lowest one that does
    /// prints it, and tells the others, which leave the end to it.
    pub fn abort(&self, cause: &str) -> ! {
        let turn = Instant::now() + Duration::from_millis(100) * self.world.rank().unsigned_abs().min(20);
        let mut told = false;
        while !told && Instant::now() < turn {
            thread::sleep(Duration::from_millis(10));
            let mut life = self.lock();
            // Errors do not matter any more.
            let _ = life.receive();
            told = life.has_ended();
        }
        if told {
            thread::sleep(FAREWELL);
        } else {
            note!("error: {cause}");
        }
        let mut life = self.lock();
        let _ = life.ends();
        self.world.abort(1)
    }

    /// Receives the signs of life that are still on their way: MPI must not end before.
    pub fn receive_the_rest(&self) {
        let sent = {
            let mut life = self.lock();
            life.ended = true;
            self.has_begun.store(true, Ordering::Relaxed);
            [life.sent]
        };
        let mut all = vec![0; self.world.size() as usize];
        let operation = format_args!("the end of the run");
        self.complete(operation, || self.world.iallgather(&sent, &mut all));
        while !self.lock().has_all(&all) {
            let received = self.lock().receive();
            if let Err(error) = received {
                self.fail(operation, &error);
            }
            thread::sleep(PAUSE);
        }
    }
}

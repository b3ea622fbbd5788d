//! A group of ranks on threads whose calls and messages are recorded, for the checks of lessons. A deadlock is detected at once from the state of the ranks, not by
//! a deadline, so that a check of a wrong ring has the same result each time, even on a busy machine.

mod messages;
mod ran;
mod standstill;

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, VecDeque},
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, Once, PoisonError,
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use anyhow::{Result, bail};
use canopy::parallel::{
    Collective, Link, Traffic, chunk, ring_all_gather, ring_all_reduce, ring_reduce_scatter,
};
use messages::message;
pub use messages::{ok, refused, said, wrong};
pub use ran::{Failed, Ran};

/// Far longer than any group needs.
const DEADLINE: Duration = Duration::from_secs(3);

/// A message that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// Its length.
    pub numbers: usize,
}

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// [`Collective::all_reduce`].
    AllReduce,
    /// [`Collective::reduce_scatter`].
    ReduceScatter,
    /// [`Collective::all_gather`].
    AllGather,
}

/// A call of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The rank that called.
    pub rank: usize,
    /// What it called.
    pub operation: Operation,
    /// The length of the whole list.
    pub numbers: usize,
    /// Whether a message of this rank had failed before.
    pub after_error: bool,
}

#[derive(Default)]
struct State {
    queues: HashMap<(usize, usize), VecDeque<Vec<f32>>>,
    /// The rank that each rank waits for.
    waiting: Vec<Option<usize>>,
    ended: Vec<bool>,
    sent: Vec<Sent>,
    calls: Vec<Call>,
    /// The first error of each rank's messages.
    errors: BTreeMap<usize, String>,
    /// Why nothing can go on.
    stuck: Option<String>,
}

struct Net {
    state: Mutex<State>,
    changed: Condvar,
}

impl Net {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One rank's end.
pub struct End {
    rank: usize,
    world: usize,
    net: Arc<Net>,
}

impl End {
    fn error(&self, text: String) -> Result<()> {
        let mut state = self.net.lock();
        state.errors.entry(self.rank).or_insert_with(|| text.clone());
        bail!(text)
    }

    fn called(&self, operation: Operation, numbers: usize) {
        let mut state = self.net.lock();
        let after_error = state.errors.contains_key(&self.rank);
        state.calls.push(Call {
            rank: self.rank,
            operation,
            numbers,
            after_error,
        });
    }

    /// An error if `mine`, the own part of a list of `whole` numbers, has not the length of this rank's chunk.
    fn is_own(&self, call: &str, mine: usize, chunk: usize, whole: usize) -> Result<()> {
        if mine == chunk {
            return Ok(());
        }
        self.error(format!(
            "{call} on rank {}: its chunk of {whole} numbers has {chunk}, but `mine` has {mine}",
            self.rank
        ))
    }

    /// The next message of rank `from`, or the reason why there will be none.
    fn next(&self, from: usize) -> Result<Vec<f32>, String> {
        let mut state = self.net.lock();
        state.waiting[self.rank] = Some(from);
        loop {
            let queue = state.queues.get_mut(&(from, self.rank));
            if let Some(data) = queue.and_then(VecDeque::pop_front) {
                state.waiting[self.rank] = None;
                return Ok(data);
            }
            state.look_for_a_standstill();
            if let Some(stuck) = state.stuck.clone() {
                self.net.changed.notify_all();
                return Err(stuck);
            }
            let waited = self.net.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Link for End {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.world
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        if to >= self.world || to == self.rank {
            return self.error(format!("rank {} of {} sent to rank {to}", self.rank, self.world));
        }
        let mut state = self.net.lock();
        state.sent.push(Sent {
            from: self.rank,
            to,
            numbers: data.len(),
        });
        state
            .queues
            .entry((self.rank, to))
            .or_default()
            .push_back(data.to_vec());
        self.net.changed.notify_all();
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        if from >= self.world || from == self.rank {
            return self.error(format!(
                "rank {} of {} waited for rank {from}",
                self.rank, self.world
            ));
        }
        match self.next(from) {
            Err(stuck) => self.error(stuck),
            Ok(data) if data.len() != into.len() => self.error(format!(
                "rank {} asked rank {from} for {} numbers, {} came",
                self.rank,
                into.len(),
                data.len()
            )),
            Ok(data) => {
                into.copy_from_slice(&data);
                Ok(())
            }
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.net.lock();
        state.ended[self.rank] = true;
        state.look_for_a_standstill();
        self.net.changed.notify_all();
    }
}

/// canopy's own algorithms over these ends.
impl Collective for End {
    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        self.called(Operation::AllReduce, data.len());
        ring_all_reduce(self, data)
    }

    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        self.called(Operation::ReduceScatter, data.len());
        let own = chunk(data.len(), self.rank, self.world);
        self.is_own("reduce_scatter", mine.len(), own.len(), data.len())?;
        let mut sums = data.to_vec();
        ring_reduce_scatter(self, &mut sums)?;
        mine.copy_from_slice(&sums[own]);
        Ok(())
    }

    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
        self.called(Operation::AllGather, whole.len());
        let own = chunk(whole.len(), self.rank, self.world);
        self.is_own("all_gather", mine.len(), own.len(), whole.len())?;
        whole[own].copy_from_slice(mine);
        ring_all_gather(self, whole)
    }

    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
        canopy::parallel::tree_broadcast(self, root, data)
    }

    fn barrier(&self) -> Result<()> {
        ring_all_reduce(self, &mut vec![0.0; self.world])
    }

    fn traffic(&self) -> Traffic {
        let state = self.net.lock();
        let own = state.sent.iter().filter(|s| s.from == self.rank);
        let mut traffic = Traffic::default();
        for sent in own {
            traffic.messages += 1;
            traffic.bytes += 4 * sent.numbers as u64;
        }
        traffic
    }
}

thread_local! {
    /// On the thread of a rank: the line of its panic.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic of a rank is part of the verdict, so that it is not printed.
fn keep_panics_of_ranks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let kept = PANIC.try_with(|panic| {
                let mut place = panic.borrow_mut();
                let rank = place.is_some();
                if rank {
                    *place = info
                        .location()
                        .map(|l| format!("{}:{}", l.file().replace('\\', "/"), l.line()));
                }
                rank
            });
            if !kept.unwrap_or(false) {
                usual(info);
            }
        }));
    });
}

/// Why `end` has the error: its messages or the function itself.
fn failed(end: &End, error: &anyhow::Error) -> Failed {
    match end.net.lock().errors.get(&end.rank) {
        Some(text) => Failed::Message(text.clone()),
        None => Failed::Error(said(error)),
    }
}

/// Runs `work` for `end` on the thread of a rank.
fn as_rank<T>(end: &End, work: &impl Fn(&End) -> Result<T>) -> Result<T, Failed> {
    PANIC.with(|panic| *panic.borrow_mut() = Some(String::new()));
    match catch_unwind(AssertUnwindSafe(|| work(end))) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(failed(end, &error)),
        Err(payload) => {
            let place = PANIC.with(|panic| panic.borrow_mut().take());
            let place = place.filter(|place| place.contains("exercises/"));
            Err(Failed::Panic(message(&*payload), place))
        }
    }
}

/// An end without a group: its rank 0 of 2 cannot sum anything.
pub fn broken() -> End {
    let state = State {
        waiting: vec![None; 2],
        ended: vec![false, true],
        ..State::default()
    };
    End {
        rank: 0,
        world: 2,
        net: Arc::new(Net {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }),
    }
}

/// `work` on each of `world` ranks at once. Alone it runs on the thread that calls.
pub fn on_ranks<T: Send + 'static>(
    world: usize,
    work: impl Fn(&End) -> Result<T> + Send + Sync + 'static,
) -> Ran<T> {
    keep_panics_of_ranks();
    let net = Arc::new(Net {
        state: Mutex::new(State {
            waiting: vec![None; world],
            ended: vec![false; world],
            ..State::default()
        }),
        changed: Condvar::new(),
    });
    let ends = (0..world).map(|rank| End {
        rank,
        world,
        net: net.clone(),
    });
    let mut ranks: Vec<Result<T, Failed>> = (0..world).map(|_| Err(Failed::NoReturn)).collect();
    if world == 1 {
        for end in ends {
            ranks[0] = work(&end).map_err(|e| failed(&end, &e));
        }
    } else {
        let work = Arc::new(work);
        let (done, results) = channel();
        for end in ends {
            let (work, done, rank) = (work.clone(), done.clone(), end.rank);
            let body = move || {
                let result = as_rank(&end, &*work);
                drop(end);
                let _ = done.send((rank, result));
            };
            // Where no thread can be had, that rank does not come back.
            let _ = thread::Builder::new().name(format!("rank-{rank}")).spawn(body);
        }
        for _ in 0..world {
            match results.recv_timeout(DEADLINE) {
                Ok((rank, result)) => ranks[rank] = result,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
    }
    let state = net.lock();
    Ran {
        ranks,
        sent: state.sent.clone(),
        calls: state.calls.clone(),
    }
}

//! A group of ranks on threads whose messages are recorded. A deadlock is detected at once from the state of the ranks, not by
//! a deadline, so that a check of a wrong ring has the same result each time, even on a busy machine.

use std::{
    any::Any,
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use anyhow::{Result, bail};
use canopy::parallel::{
    Collective, Link, Traffic, chunk, ring_all_gather, ring_all_reduce, ring_reduce_scatter,
};
use grader::{Case, Verdict};

/// Far longer than any group needs.
const DEADLINE: Duration = Duration::from_secs(3);

/// A message that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub from: usize,
    pub to: usize,
    pub numbers: usize,
}

#[derive(Default)]
struct State {
    queues: HashMap<(usize, usize), VecDeque<Vec<f32>>>,
    /// The rank that each rank waits for.
    waiting: Vec<Option<usize>>,
    ended: Vec<bool>,
    sent: Vec<Sent>,
    all_reduces: Vec<usize>,
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

impl State {
    fn look_for_a_standstill(&mut self) {
        let nothing = |from: usize, to: usize| self.queues.get(&(from, to)).is_none_or(VecDeque::is_empty);
        let waits = |rank: usize| self.waiting[rank].is_some_and(|from| nothing(from, rank));
        let running: Vec<usize> = (0..self.ended.len()).filter(|&r| !self.ended[r]).collect();
        if self.stuck.is_none() && !running.is_empty() && running.iter().all(|&r| waits(r)) {
            let one = |&r: &usize| format!("rank {r} for rank {}", self.waiting[r].unwrap_or_default());
            let all: Vec<String> = running.iter().take(3).map(one).collect();
            let more = if running.len() > 3 { ", …" } else { "" };
            self.stuck = Some(format!("all ranks wait: {}{more}", all.join(", ")));
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
            bail!("rank {} of {} sent to rank {to}", self.rank, self.world);
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
            bail!("rank {} of {} waited for rank {from}", self.rank, self.world);
        }
        let mut state = self.net.lock();
        state.waiting[self.rank] = Some(from);
        let data = loop {
            if let Some(data) = state
                .queues
                .get_mut(&(from, self.rank))
                .and_then(VecDeque::pop_front)
            {
                break data;
            }
            state.look_for_a_standstill();
            if let Some(stuck) = state.stuck.clone() {
                self.net.changed.notify_all();
                bail!(stuck);
            }
            let waited = self.net.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        };
        state.waiting[self.rank] = None;
        if data.len() != into.len() {
            bail!(
                "rank {} expected {} numbers of rank {from}, {} came",
                self.rank,
                into.len(),
                data.len()
            );
        }
        into.copy_from_slice(&data);
        Ok(())
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
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.world
    }

    fn all_reduce(&self, data: &mut [f32]) -> Result<()> {
        self.net.lock().all_reduces.push(data.len());
        ring_all_reduce(self, data)
    }

    fn reduce_scatter(&self, data: &[f32], mine: &mut [f32]) -> Result<()> {
        let mut sums = data.to_vec();
        ring_reduce_scatter(self, &mut sums)?;
        mine.copy_from_slice(&sums[chunk(data.len(), self.rank, self.world)]);
        Ok(())
    }

    fn all_gather(&self, mine: &[f32], whole: &mut [f32]) -> Result<()> {
        let own = chunk(whole.len(), self.rank, self.world);
        whole[own].copy_from_slice(mine);
        ring_all_gather(self, whole)
    }

    fn broadcast(&self, root: usize, data: &mut [f32]) -> Result<()> {
        canopy::parallel::tree_broadcast(self, root, data)
    }

    fn barrier(&self) -> Result<()> {
        ring_all_reduce(self, &mut vec![0.0; self.world])
    }

    fn send(&self, to: usize, data: &[f32]) -> Result<()> {
        Link::send(self, to, data)
    }

    fn receive(&self, from: usize, into: &mut [f32]) -> Result<()> {
        Link::receive(self, from, into)
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

/// What became of a group.
pub struct Ran<T> {
    /// Of each rank: what it gave, or what went wrong there.
    pub ranks: Vec<Result<T, String>>,
    pub sent: Vec<Sent>,
    /// Numbers of each call of `all_reduce`.
    pub all_reduces: Vec<usize>,
}

impl<T> Ran<T> {
    /// That every rank came to its end; what the first did that did not.
    pub fn all_well(&self, case: &Case) -> Verdict {
        let wrong = |(rank, result): (usize, &Result<T, String>)| match result {
            Err(said) if said.starts_with("all wait") || said.contains(&format!("rank {rank} ")) => {
                Some(said.clone())
            }
            Err(said) => Some(format!("rank {rank}: {said}")),
            Ok(_) => None,
        };
        match self.ranks.iter().enumerate().find_map(wrong) {
            Some(said) => case.require("each rank finishes", false, said),
            None => Ok(()),
        }
    }
}

/// `work` on each of `world` ranks at once. Alone it runs on the thread that calls.
pub fn on_ranks<T: Send + 'static>(
    world: usize,
    work: impl Fn(&End) -> Result<T> + Send + Sync + 'static,
) -> Ran<T> {
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
    let mut ranks: Vec<Result<T, String>> = (0..world).map(|_| Err("it did not come back".into())).collect();
    if world == 1 {
        for end in ends {
            ranks[0] = work(&end).map_err(|e| said(&e));
        }
    } else {
        let work = Arc::new(work);
        let (done, results) = channel();
        for end in ends {
            let (work, done, rank) = (work.clone(), done.clone(), end.rank);
            let body = move || {
                let result = catch_unwind(AssertUnwindSafe(|| work(&end)));
                drop(end);
                let said = match result {
                    Ok(result) => result.map_err(|e| said(&e)),
                    Err(panic) => Err(format!("it panicked: {}", message(&*panic))),
                };
                let _ = done.send((rank, said));
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
        all_reduces: state.all_reduces.clone(),
    }
}

/// An error and its causes, without the backtrace with which candle's go on where RUST_BACKTRACE is set.
pub fn said(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let lines = text.lines().take_while(|l| !l.trim_start().starts_with("0: "));
    lines.collect::<Vec<_>>().join(" ")
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}

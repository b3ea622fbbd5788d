//! What a launch read and wrote, and in how many steps a GPU would do it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{abi, fault::Kind, lines::Image, memory::Buffer, message::Launching};

/// The memory that an access reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Place {
    /// A buffer, by its number in the order in which [`crate::Memory`] made them. A [`Buffer`] converts into it.
    Buffer(usize),
    /// A shared variable, by its first byte in the block's shared memory.
    Shared(usize),
}

impl<T> From<Buffer<T>> for Place {
    fn from(buffer: Buffer<T>) -> Self {
        Place::Buffer(buffer.index)
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// It reads.
    Read,
    /// It writes, also by an asynchronous copy.
    Write,
    /// It reads and writes as one step.
    Atomic,
}

/// One access of one thread, as `Access` in `include/grid/abi.h`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Access {
    /// Number of the block: x changes fastest.
    pub block: u32,
    /// Number of the thread in its block: x changes fastest.
    pub thread: u32,
    /// The memory; for an access out of bounds, the nearest: a shared variable only near the block's shared memory.
    pub memory: Place,
    /// Bytes of the memory.
    pub size: u64,
    /// The first byte, from the start of the memory; negative if it is before the start.
    pub offset: i64,
    /// Number of bytes.
    pub bytes: u32,
    /// What it does.
    pub mode: Mode,
    /// Barriers that the block had passed.
    pub barriers: u32,
    /// The line of the source; 0 if it is unknown.
    pub line: usize,
    /// Which instruction of the compiled kernel it is.
    pub instruction: u64,
    /// How often this thread executed this instruction before.
    pub turn: u64,
}

/// The accesses to buffers and shared variables of a launch after [`crate::Memory::trace`], in the order in which the grid
/// made them: a thread runs until it waits for others, then the next one runs.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The first 2^20 accesses.
    pub accesses: Vec<Access>,
    /// Whether there were more accesses. The last one of `accesses` is then the last of all.
    pub truncated: bool,
    /// The access with which a fault was found, if it was found at an access.
    pub faulty: Option<usize>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
}

/// The traffic between a buffer and the multiprocessors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Accesses of whole warps: those of its lanes in the same line at the same turn are one.
    pub requests: u64,
    /// 32-byte sectors that the requests touch.
    pub sectors: u64,
    /// Sectors that would do if each request's bytes were contiguous and aligned.
    pub fewest: u64,
    /// An access of the first request with the most sectors beyond its fewest, if there is one: an index of `accesses`.
    pub worst: Option<usize>,
}

/// How shared memory serves a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// Accesses of whole warps; of half a warp if each lane accesses 8 bytes, of a quarter if 16.
    pub requests: u64,
    /// Passes for all requests. A request needs as many as there are different 4-byte words in the bank with the most;
    /// there are 32 banks. Free of conflicts are as many passes as requests.
    pub passes: u64,
    /// An access of the first request with the most passes, if that is more than one: an index of `accesses`.
    pub worst: Option<usize>,
}

/// Accesses that a trace keeps.
pub(crate) const MOST: usize = 1 << 20;

impl Trace {
    /// The accesses that the runtime kept, with their lines; the last one is that of the fault, if they agree.
    pub(crate) fn new(
        mut accesses: Vec<Access>,
        truncated: bool,
        fault: &abi::Fault,
        launching: &Launching,
        image: &Image,
    ) -> Self {
        let (mut lines, mut turns) = (HashMap::new(), HashMap::new());
        for a in &mut accesses {
            let line = || image.line_at(a.instruction).map_or(0, |line| line.number);
            a.line = *lines.entry(a.instruction).or_insert_with(line);
            let turn = turns.entry((a.block, a.thread, a.instruction)).or_insert(0);
            a.turn = *turn;
            *turn += 1;
        }
        let at = (fault.at.block, fault.at.thread, fault.at.pc);
        // A misaligned access is not kept. A race names the start of an element of up to 4 bytes, before that of the access.
        let agrees = |a: &&Access| {
            let covers = (a.offset - 3..a.range().end).contains(&fault.offset);
            covers && fault.problem != Kind::Misaligned as u32 && (a.block, a.thread, a.instruction) == at
        };
        Trace {
            faulty: accesses.last().filter(agrees).map(|_| accesses.len() - 1),
            accesses,
            truncated,
            grid: launching.grid,
            block: launching.block,
        }
    }

    /// The traffic of a buffer: `trace.traffic(buffer)`.
    pub fn traffic(&self, memory: impl Into<Place>) -> Traffic {
        let (mut traffic, memory) = (Traffic::default(), memory.into());
        // The compiler here may read a vector in parts.
        let which = |a: &Access| {
            if a.line == 0 {
                (0, a.instruction)
            } else {
                (a.line, a.mode as u64)
            }
        };
        let requests = self.requests(|a| a.memory == memory, which, u32::MAX);
        let costs = requests.map(|request| {
            let bytes: BTreeSet<i64> = request.iter().flat_map(|&i| self.accesses[i].range()).collect();
            let sectors: BTreeSet<i64> = bytes.iter().map(|byte| byte.div_euclid(32)).collect();
            let (sectors, fewest) = (sectors.len() as u64, bytes.len().div_ceil(32) as u64);
            traffic.requests += 1;
            traffic.sectors += sectors;
            traffic.fewest += fewest;
            (sectors - fewest, request[0])
        });
        traffic.worst = worst(costs);
        traffic
    }

    /// The bank conflicts of all shared variables.
    pub fn conflicts(&self) -> Conflicts {
        let mut conflicts = Conflicts::default();
        let requests = self.requests(
            |a| matches!(a.memory, Place::Shared(_)),
            |a| (0, a.instruction),
            128,
        );
        let costs = requests.map(|request| {
            let words = request.iter().map(|&i| &self.accesses[i]);
            let words = words.flat_map(|a| a.range().map(|byte| (a.start() + byte).div_euclid(4)));
            let mut banks = [0; 32];
            for word in words.collect::<BTreeSet<i64>>() {
                banks[word.rem_euclid(32) as usize] += 1;
            }
            let passes = banks.into_iter().max().unwrap_or(1);
            conflicts.requests += 1;
            conflicts.passes += passes;
            (passes - 1, request[0])
        });
        conflicts.worst = worst(costs);
        conflicts
    }

    /// The accesses that the lanes of a warp make together, at the same place in the kernel and the same turn; of only so many
    /// lanes that they have at most `limit` bytes.
    fn requests(
        &self,
        keep: impl Fn(&Access) -> bool,
        place: impl Fn(&Access) -> (usize, u64),
        limit: u32,
    ) -> impl Iterator<Item = Vec<usize>> {
        let mut requests: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (i, a) in self.accesses.iter().enumerate().filter(|(_, a)| keep(a)) {
            let part = a.thread % 32 * a.bytes.max(4) / limit;
            let key = (a.block, a.thread / 32, place(a), a.turn, part);
            requests.entry(key).or_default().push(i);
        }
        requests.into_values()
    }
}

/// The first access with the highest cost, if it is not 0.
fn worst(costs: impl Iterator<Item = (u64, usize)>) -> Option<usize> {
    let (most, access) = costs.max_by_key(|(cost, access)| (*cost, usize::MAX - access))?;
    (most > 0).then_some(access)
}

impl Access {
    /// Its bytes, in its memory.
    pub(crate) fn range(&self) -> std::ops::Range<i64> {
        self.offset..self.offset + i64::from(self.bytes)
    }

    /// The first byte of its memory: in shared memory that of the variable.
    pub(crate) fn start(&self) -> i64 {
        match self.memory {
            Place::Shared(start) => start as i64,
            Place::Buffer(_) => 0,
        }
    }
}

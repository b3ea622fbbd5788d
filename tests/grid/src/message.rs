//! The text of a fault: who did what to which memory, at which line, and what to look for.

use std::collections::BTreeMap;

use crate::{
    abi::{self, Place, Waiting},
    fault::{Fault, Kind},
    lines::{Image, Line, text},
    memory::{Arg, Memory},
    source::Declared,
};

/// The launch of which a message speaks.
pub struct Launching<'a> {
    pub kernel: &'a str,
    pub declared: &'a Declared,
    pub arguments: &'a [Arg],
    pub grid: [u32; 3],
    pub block: [u32; 3],
}

impl Launching<'_> {
    /// Whether a buffer is passed for reading, and nowhere for writing.
    pub fn read_only(&self, buffer: usize) -> bool {
        let uses = |read| {
            let same = move |a: &&Arg| matches!(a, Arg::Buffer { index, read_only, .. } if *index == buffer && *read_only == read);
            self.arguments.iter().any(move |a| same(&a))
        };
        uses(true) && !uses(false)
    }

    pub fn index(of: u32, size: [u32; 3]) -> String {
        let [x, y, z] = [of % size[0], of / size[0] % size[1], of / size[0] / size[1]];
        match size {
            [_, 1, 1] => x.to_string(),
            [_, _, 1] => format!("({x},{y})"),
            _ => format!("({x},{y},{z})"),
        }
    }

    fn thread(&self, thread: u32) -> String {
        Self::index(thread, self.block)
    }

    /// `thread 3 of block 2`.
    fn who(&self, place: &Place) -> String {
        format!(
            "thread {} of block {}",
            self.thread(place.thread),
            Self::index(place.block, self.grid)
        )
    }

    /// `` `y` (argument 2, 4096 bytes) ``.
    fn region(&self, fault: &abi::Fault, memory: &Memory) -> String {
        let (index, bytes) = (fault.index as usize, fault.region_bytes);
        match fault.region {
            1 => {
                let same = |a: &Arg| matches!(a, Arg::Buffer { index: i, .. } if *i == index);
                match self.arguments.iter().position(same) {
                    Some(at) => {
                        let name = self.declared.parameters.get(at).map_or("", |n| n);
                        format!("`{name}` (argument {}, {bytes} bytes)", at + 1)
                    }
                    None => format!("the buffer made at {} ({bytes} bytes)", memory.made_at(index)),
                }
            }
            2 => format!("shared `{}` ({bytes} bytes)", text(fault.name.as_ptr())),
            3 => format!("dynamic shared memory ({bytes} bytes)"),
            _ => format!("address {:#x}", fault.address),
        }
    }
}

fn verb(access: u32) -> &'static str {
    match access {
        0 => "reads",
        1 => "writes",
        2 => "updates atomically",
        _ => "copies asynchronously to",
    }
}

fn past(access: u32) -> &'static str {
    match access {
        0 => "read",
        1 => "wrote",
        2 => "updated atomically",
        _ => "copied asynchronously to",
    }
}

/// The fault that the runtime found, in words.
pub fn describe(
    fault: &abi::Fault,
    waiting: &[Waiting],
    memory: &Memory,
    launching: &Launching,
    image: &Image,
) -> Fault {
    let kind = bytemuck::checked::try_cast(fault.problem).unwrap_or(Kind::Trap);
    let mut lines: Vec<Line> = Vec::new();
    let message = if kind == Kind::Deadlock {
        deadlock(fault, waiting, launching, image, &mut lines)
    } else {
        let mut message = sentence(kind, fault, memory, launching);
        for (place, label) in [(&fault.at, "at"), (&fault.other, "and")] {
            if let Some(line) = image.line_of(place) {
                message += &format!("\n  {label} {}", image.shown(&line));
                lines.push(line);
            }
        }
        message
    };
    let hint = hint(kind, fault);
    let message = if hint.is_empty() {
        message
    } else {
        format!("{message}\n{hint}")
    };
    let lines = lines.iter().map(|l| l.number).collect();
    Fault {
        kind,
        kernel: launching.kernel.into(),
        message,
        lines,
        trace: Box::default(),
    }
}

fn sentence(kind: Kind, fault: &abi::Fault, memory: &Memory, launching: &Launching) -> String {
    let (who, verb) = (launching.who(&fault.at), verb(fault.at.access));
    let (region, bytes, offset) = (launching.region(fault, memory), fault.bytes, fault.offset);
    let [detail, more] = fault.detail;
    match kind {
        Kind::OutOfBounds => format!("{who} {verb} {bytes} bytes {}", outside(fault, &region)),
        Kind::ReadOnly => {
            format!("{who} {verb} byte {offset} of {region}, which the launch passes for reading only")
        }
        Kind::Uninitialised => {
            format!("{who} {verb} byte {offset} of {region}, which no thread of the block has written")
        }
        Kind::Race => {
            let (other, past) = (launching.who(&fault.other), past(fault.other.access));
            format!(
                "race: {who} {verb} byte {offset} of {region}, which {other} {past} with nothing between that orders the two"
            )
        }
        Kind::Misaligned => match fault.region {
            0 => format!(
                "{who} accesses the address {:#x}, which is not a multiple of {detail}",
                fault.address
            ),
            _ => format!(
                "{who} accesses byte {offset} of {region} as a value that must be aligned to {detail} bytes"
            ),
        },
        Kind::Index => {
            format!(
                "{who} uses index {detail} in an array of type {}",
                text(fault.name.as_ptr())
            )
        }
        Kind::Division => format!("{who} divides an integer by zero"),
        Kind::DivergentBarrier => {
            let other = launching.thread(fault.other.thread);
            format!("{who} waits at one __syncthreads() while thread {other} of the block waits at another")
        }
        Kind::LaneNotInMask => {
            let lane = fault.at.thread % 32;
            format!(
                "{who} is lane {lane}, and calls {} with the mask {more:#010x}, which does not name it",
                operation(detail as u32)
            )
        }
        Kind::Wmma => format!("{who}: {}", wmma(detail, more, fault, &region)),
        Kind::AsyncCopy if fault.other.pc == 0 => {
            format!("{who} copies asynchronously to {region}; the target must be shared memory")
        }
        Kind::AsyncCopy => format!(
            "{who} {verb} byte {offset} of {region}, to which an asynchronous copy of thread {} is not finished",
            launching.thread(fault.other.thread)
        ),
        Kind::OtherStack => {
            format!(
                "{who} {verb} a local variable of thread {}",
                launching.thread(detail as u32)
            )
        }
        Kind::StackOverflow => {
            format!("{who} has no stack left: too deep a recursion, or too large local arrays")
        }
        Kind::Endless => format!("{who} has made 400 million accesses and does not finish: an endless loop"),
        Kind::SharedSize => format!(
            "{who} needs {detail} bytes of `__shared__` variables and {more} of dynamic shared memory; a block has at most \
             49152 (48 KiB) of the first and 232448 (227 KiB) in all"
        ),
        Kind::Trap => format!("{who} calls __trap()"),
        Kind::Deadlock | Kind::Launch => String::new(),
    }
}

/// Whether an address is so far from a memory of `size` bytes that the access need not be meant for it.
pub(crate) fn is_far(offset: i64, size: i64) -> bool {
    offset < -(1 << 24) || offset - size > 1 << 24
}

/// `that begin 12 bytes past the end of y`.
fn outside(fault: &abi::Fault, region: &str) -> String {
    let (offset, size, bytes) = (fault.offset, fault.region_bytes as i64, i64::from(fault.bytes));
    match fault.region {
        0 => format!("at {region}, where there is no memory"),
        _ if fault.address < 4096 => "at a null pointer".to_string(),
        _ if is_far(offset, size) => format!("at address {:#x}, which is in no buffer", fault.address),
        _ if fault.detail[1] == 1 => format!(
            "at byte {offset} of {region}: {} of them are past its end",
            offset + bytes - size
        ),
        _ if offset < 0 => format!("that begin {} bytes before the start of {region}", -offset),
        _ => format!("that begin {} bytes past the end of {region}", offset - size),
    }
}

fn wmma(detail: i64, more: i64, fault: &abi::Fault, region: &str) -> String {
    match detail {
        0 => "a wmma function needs all 32 lanes of the warp; some do not exist or have returned".into(),
        1 => format!(
            "the matrix at byte {} of {region} must be aligned to 32 bytes",
            fault.offset
        ),
        2 => {
            let of = 16 / fault.bytes.max(1);
            format!(
                "the leading dimension {more} of a matrix of {}-byte elements must be a multiple of {of}",
                fault.bytes
            )
        }
        3 => "the lanes of a warp pass different pointers for one matrix".into(),
        _ => "the lanes of a warp pass different leading dimensions for one matrix".into(),
    }
}

/// The CUDA name of an `Operation` of `include/grid/runtime.h`.
fn operation(number: u32) -> &'static str {
    let names = [
        "__syncthreads()",
        "__syncwarp()",
        "a shuffle",
        "a warp vote",
        "__match_any_sync()",
        "a warp reduction",
        "wmma::load_matrix_sync()",
        "wmma::store_matrix_sync()",
        "wmma::mma_sync()",
    ];
    names.get(number as usize).unwrap_or(&"an operation")
}

/// Who waits where.
fn deadlock(
    fault: &abi::Fault,
    waiting: &[Waiting],
    launching: &Launching,
    image: &Image,
    lines: &mut Vec<Line>,
) -> String {
    let mut groups: BTreeMap<(u32, u32, u32, i32, String), Vec<u32>> = BTreeMap::new();
    for (thread, w) in waiting.iter().enumerate() {
        let key = (u32::from(w.state != 1), w.operation, w.mask, w.line, text(w.file));
        groups.entry(key).or_default().push(thread as u32);
    }
    let block = Launching::index(fault.at.block, launching.grid);
    let mut message = format!("the threads of block {block} wait for each other and none can go on:");
    for ((returned, number, mask, line, file), threads) in groups {
        let (who, waits, have) = match threads.len() {
            1 => (format!("thread {}", launching.thread(threads[0])), "waits", "has"),
            _ => (format!("threads {}", ranges(&threads, launching)), "wait", "have"),
        };
        if returned == 1 {
            message += &format!("\n  {who} {have} returned");
            continue;
        }
        let line = Line {
            file: file.into(),
            number: line as usize,
        };
        let mask = if number == 0 {
            String::new()
        } else {
            format!(" with the mask {mask:#010x}")
        };
        message += &format!(
            "\n  {who} {waits} in {}{mask} at {}",
            operation(number),
            image.shown(&line)
        );
        lines.push(line);
    }
    message
}

/// `0 to 15, 20`.
fn ranges(threads: &[u32], launching: &Launching) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &t in threads {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == t => *last = t,
            _ => parts.push((t, t)),
        }
    }
    let name = |t: u32| launching.thread(t);
    let shown = parts.iter().take(6).map(|&(a, b)| {
        if a == b {
            name(a)
        } else {
            format!("{} to {}", name(a), name(b))
        }
    });
    let more = if parts.len() > 6 { " and others" } else { "" };
    shown.collect::<Vec<_>>().join(", ") + more
}

/// What usually is the cause.
fn hint(kind: Kind, fault: &abi::Fault) -> &'static str {
    let other_block = fault.at.block != fault.other.block;
    match kind {
        Kind::OutOfBounds if fault.region == 1 => {
            "The grid has more threads than there are elements: is every access behind `if (i < n)`?"
        }
        Kind::Race if other_block => {
            "Blocks run in any order. Let them write different elements, use an atomic, or publish with __threadfence() and an atomic."
        }
        Kind::Race if fault.region == 1 => {
            "Use __syncthreads() between the two, an atomic, or an element of its own for each thread."
        }
        Kind::Race if fault.at.thread / 32 == fault.other.thread / 32 => {
            "The two are lanes of one warp, which do not run in step: __syncwarp() or __syncthreads() orders them, a shuffle does not."
        }
        Kind::Race => {
            "Is there a __syncthreads() missing between the two lines (in a loop, also from its end to its beginning)?"
        }
        Kind::Uninitialised => {
            "Does every element get its value, also where the input ends, and do the indices agree?"
        }
        Kind::Deadlock | Kind::DivergentBarrier => {
            "Every thread of a block must come to the same __syncthreads(), and every lane in a mask to the same warp operation: \
             none may return or branch away before."
        }
        Kind::LaneNotInMask => "The mask must name every lane that calls, and no other.",
        Kind::AsyncCopy if fault.other.pc != 0 => {
            "__pipeline_commit(), then __pipeline_wait_prior(), then __syncthreads() before other threads read."
        }
        _ => "",
    }
}

/// The first shuffle that read a lane which took no part.
pub fn note(fault: &abi::Fault, launching: &Launching, image: &Image) -> Option<String> {
    let place = &fault.note;
    let line = (place.line != 0).then(|| image.line_of(place)).flatten()?;
    let (who, source) = (launching.who(place), fault.note_source);
    Some(format!(
        "{who} reads lane {source}, which takes no part in the shuffle, so that its value is undefined\n  at {}",
        image.shown(&line)
    ))
}

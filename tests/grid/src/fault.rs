//! What a kernel did wrong.

use std::fmt;

use crate::trace::Trace;

/// The kind of a fault, with the numbers of `Problem` in `include/grid/abi.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::CheckedBitPattern)]
#[repr(u32)]
pub enum Kind {
    /// An access outside of all buffers and shared variables.
    OutOfBounds = 1,
    /// A write to a buffer that the launch passed with [`crate::Arg::read`].
    ReadOnly,
    /// A read of shared memory that no thread of the block has written.
    Uninitialised,
    /// Two threads access one element without a barrier between, and one of them writes.
    Race,
    /// An address that is not a multiple of the access's alignment.
    Misaligned,
    /// An index beyond the length of its array.
    Index,
    /// An integer division by zero.
    Division,
    /// Threads wait for others that never come.
    Deadlock,
    /// Threads of one block wait at different barriers.
    DivergentBarrier,
    /// A lane calls a warp operation with a mask that does not name it.
    LaneNotInMask,
    /// A rule of the wmma functions is broken.
    Wmma,
    /// An asynchronous copy is used before it is finished.
    AsyncCopy,
    /// An access to a local variable of another thread.
    OtherStack,
    /// Too deep a recursion, or too large local variables.
    StackOverflow,
    /// A thread does not finish.
    Endless,
    /// More shared memory than a block can have.
    SharedSize,
    /// `__trap()`.
    Trap,
    /// The launch does not fit the kernel: its arguments, or its size.
    Launch,
}

/// What a kernel did wrong, and where.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Which rule is broken.
    pub kind: Kind,
    /// The kernel.
    pub kernel: String,
    /// What happened, with threads, memory and lines.
    pub message: String,
    /// The lines of the source that are involved; that of the faulty thread first.
    pub lines: Vec<usize>,
    /// The accesses, if [`crate::Memory::trace`] was called.
    pub trace: Box<Trace>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "kernel `{}`: {}", self.kernel, self.message)
    }
}

impl std::error::Error for Fault {}

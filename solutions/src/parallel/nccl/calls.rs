//! What the engine needs of NCCL and of the device: the tests have one that delays, fails and hangs.

use anyhow::Result;
use candle_core::{Device, Tensor};

use crate::parallel::Operation;

/// One communicator and its stream.
pub trait Calls: Send + Sync + 'static {
    /// A position in the stream.
    type Mark: Clone + Send + Sync;
    /// The output of an operation that may not have ended, and what must live until it has.
    type Output: Send;

    /// Where tensors are.
    fn device(&self) -> &Device;

    /// Queues an operation behind all work on its inputs, and returns the position in the stream after it. Does not wait for
    /// other ranks.
    fn queue(&self, operation: &Operation) -> Result<(Self::Output, Self::Mark)>;

    /// Whether the stream has reached a position.
    fn has_reached(&self, mark: &Self::Mark) -> Result<bool>;

    /// Returns the output, for which later work on the device waits.
    fn take(&self, output: Self::Output) -> Result<Tensor>;

    /// Returns the error that the communicator met since it was created, if there is one.
    fn error(&self) -> Option<String>;

    /// Ends the communicator, so that the stream continues without the other ranks. Called again, it does nothing.
    fn abort(&self);
}

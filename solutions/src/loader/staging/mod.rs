//! Batches on their way to a GPU.
//!
//! A copy from ordinary host memory goes through a buffer of the driver, and the host may wait for it. So the loader's
//! thread writes each batch into pinned memory, from which the GPU copies by itself, on a stream of its own. While step i
//! computes, batch i + 1 is copied. The trainer's thread only queues the step behind the copy.
//!
//! There are two buffers. Events keep their order:
//!
//! ```text
//! host            wait for Copied │ fill the pinned memory
//! copy stream       wait for Taken │ pinned memory → device memory │ record Copied
//! compute stream                     wait for Copied │ device memory → new tensors │ record Taken │ the step
//! ```
//!
//! The copy into new tensors within the device costs microseconds. For that, nobody has to know how long the step, its
//! backward pass or its caller still read a batch: tensors live as long as any other tensor.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Result;
use candle_core::{Device, Tensor};

use super::Batch;

/// A point in a stream. Waiting for an event waits for the last [`Buffer::record`] of it, and for nothing if there was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The copy stream no longer reads the pinned memory; the device memory has the batch. The compute stream waits for it.
    Copied,
    /// The compute stream no longer reads the device memory. The copy stream waits for it.
    Taken,
}

/// Pinned memory, device memory of the same size, and two events. Only [`Self::fill`] and [`Self::host_waits`] happen when
/// they are called; all else is queued on its stream. `T` is what the trainer receives.
pub(super) trait Buffer<T>: Send {
    /// Writes a batch into the pinned memory. If it is too small, so is the device memory, which is freed on the copy stream.
    fn fill(&mut self, batch: &Batch) -> Result<()>;
    /// Copies the pinned memory into the device memory, on the copy stream.
    fn copy(&mut self) -> Result<()>;
    /// Copies the device memory into new tensors, on the compute stream.
    fn take(&mut self) -> Result<T>;
    /// Records `event` on its stream.
    fn record(&mut self, event: Event) -> Result<()>;
    /// Blocks the calling thread.
    fn host_waits(&mut self, event: Event) -> Result<()>;
    /// What is queued later on the other stream waits.
    fn stream_waits(&mut self, event: Event) -> Result<()>;
}

struct Slot<T> {
    buffer: Box<dyn Buffer<T>>,
    /// A [`Staged`] batch is in it.
    occupied: bool,
}

impl<T> Slot<T> {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        self.buffer.host_waits(Event::Copied)?;
        // Before `fill`, because it may free the device memory.
        self.buffer.stream_waits(Event::Taken)?;
        self.buffer.fill(batch)?;
        self.buffer.copy()?;
        self.buffer.record(Event::Copied)?;
        self.occupied = true;
        Ok(())
    }

    fn take(&mut self) -> Result<T> {
        self.buffer.stream_waits(Event::Copied)?;
        let tensors = self.buffer.take()?;
        self.buffer.record(Event::Taken)?;
        Ok(tensors)
    }
}

type Shared<T> = Arc<Mutex<Slot<T>>>;

fn lock<T>(slot: &Shared<T>) -> MutexGuard<'_, Slot<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Two buffers, filled in turn. Each has a lock of its own: the trainer takes a batch while the loader fills the next.
pub(super) struct Staging<T = (Tensor, Tensor)> {
    slots: [Shared<T>; 2],
    next: AtomicUsize,
}

impl Staging {
    /// The buffers of a GPU; none for the CPU, which reads a batch where it is.
    ///
    /// # Errors
    /// Returns an error if the GPU has no stream or event left.
    pub fn of(device: &Device) -> Result<Option<Self>> {
        #[cfg(feature = "cuda")]
        if let Device::Cuda(gpu) = device {
            return cuda::staging(gpu).map(Some);
        }
        let _ = device;
        Ok(None)
    }
}

impl<T> Staging<T> {
    #[cfg(any(feature = "cuda", test))]
    pub fn new(buffers: [Box<dyn Buffer<T>>; 2]) -> Self {
        let slot = |buffer| {
            Arc::new(Mutex::new(Slot {
                buffer,
                occupied: false,
            }))
        };
        Self {
            slots: buffers.map(slot),
            next: AtomicUsize::new(0),
        }
    }

    /// Writes `batch` into the next buffer and queues its copy. None if the batch before last was not taken yet: this one
    /// then travels without a buffer, because to wait here could be to wait for ever.
    ///
    /// # Errors
    /// Returns an error if the device is out of memory, or that of an earlier operator.
    pub fn put(&self, batch: &Batch) -> Result<Option<Staged<T>>> {
        let shared = &self.slots[self.next.load(Ordering::Relaxed)];
        let mut slot = lock(shared);
        if slot.occupied {
            return Ok(None);
        }
        slot.put(batch)?;
        self.next.fetch_xor(1, Ordering::Relaxed);
        Ok(Some(Staged(shared.clone())))
    }
}

/// A batch in a buffer. Dropping it frees the buffer.
pub(super) struct Staged<T = (Tensor, Tensor)>(Shared<T>);

impl<T> Staged<T> {
    /// Queues the step's wait for the copy, and returns the batch.
    ///
    /// # Errors
    /// Returns an error if the device is out of memory, or that of an earlier operator.
    pub fn take(self) -> Result<T> {
        lock(&self.0).take()
    }
}

impl<T> Drop for Staged<T> {
    fn drop(&mut self) {
        lock(&self.0).occupied = false;
    }
}

impl<T> fmt::Debug for Staging<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Staging")
    }
}

impl<T> fmt::Debug for Staged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Staged")
    }
}

//! The buffers of an NVIDIA GPU. Not run on a GPU yet; `tests` checks the order of their operations.

use std::sync::Arc;

use anyhow::Result;
use candle_core::{
    CudaDevice, CudaStorage, Storage, Tensor,
    cuda_backend::{
        CudaDType, WrapErr,
        cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DeviceRepr, PinnedHostSlice, ValidAsZeroBits},
    },
    op::BackpropOp,
};

use super::{Batch, Buffer, Event, Staging};

/// Two buffers that share a copy stream.
pub(super) fn staging(gpu: &CudaDevice) -> Result<Staging> {
    let copy = gpu.cuda_stream().context().new_stream().w()?;
    let buffer = || -> Result<Box<dyn Buffer<(Tensor, Tensor)>>> {
        let event = || copy.context().new_event(None).w();
        Ok(Box::new(Pinned {
            gpu: gpu.clone(),
            copy: copy.clone(),
            copied: event()?,
            taken: event()?,
            points: None,
            labels: None,
            shape: (0, 0, 0),
        }))
    };
    Ok(Staging::new([buffer()?, buffer()?]))
}

struct Pinned {
    gpu: CudaDevice,
    copy: Arc<CudaStream>,
    /// cudarc's own event of a pinned slice is not recorded without event tracking.
    copied: CudaEvent,
    taken: CudaEvent,
    points: Option<Pair<f32>>,
    labels: Option<Pair<u32>>,
    /// Clouds, points, channels.
    shape: (usize, usize, usize),
}

impl Pinned {
    fn event(&self, event: Event) -> &CudaEvent {
        match event {
            Event::Copied => &self.copied,
            Event::Taken => &self.taken,
        }
    }

    /// The stream that records `event`, and the one that waits for it.
    fn streams(&self, event: Event) -> [Arc<CudaStream>; 2] {
        let (copy, compute) = (self.copy.clone(), self.gpu.cuda_stream());
        match event {
            Event::Copied => [copy, compute],
            Event::Taken => [compute, copy],
        }
    }
}

impl Buffer<(Tensor, Tensor)> for Pinned {
    fn fill(&mut self, batch: &Batch) -> Result<()> {
        self.shape = batch.shape();
        Pair::fill(&mut self.points, &batch.points, &self.copy)?;
        Pair::fill(&mut self.labels, &batch.labels, &self.copy)
    }

    fn copy(&mut self) -> Result<()> {
        if let Some(pair) = &mut self.points {
            pair.copy(&self.copy)?;
        }
        if let Some(pair) = &mut self.labels {
            pair.copy(&self.copy)?;
        }
        Ok(())
    }

    fn take(&mut self) -> Result<(Tensor, Tensor)> {
        let empty = || anyhow::anyhow!("the buffer has no batch");
        let points = self.points.as_ref().ok_or_else(empty)?.take(&self.gpu)?;
        let labels = self.labels.as_ref().ok_or_else(empty)?.take(&self.gpu)?;
        let labels = labels.reshape(self.shape.0)?;
        Ok((points.reshape(self.shape)?, labels))
    }

    fn record(&mut self, event: Event) -> Result<()> {
        let [records, _] = self.streams(event);
        Ok(self.event(event).record(&records).w()?)
    }

    fn host_waits(&mut self, event: Event) -> Result<()> {
        Ok(self.event(event).synchronize().w()?)
    }

    fn stream_waits(&mut self, event: Event) -> Result<()> {
        let [_, waits] = self.streams(event);
        Ok(waits.wait(self.event(event)).w()?)
    }
}

impl Drop for Pinned {
    /// The memory is freed after the last copies that read it. Errors are left for the next operator to report.
    fn drop(&mut self) {
        let _ = self.copied.synchronize();
        let _ = self.taken.synchronize();
    }
}

/// Pinned memory, and device memory that belongs to the copy stream: room for the largest batch so far, because to allocate
/// pinned memory may wait for the device.
struct Pair<T> {
    host: PinnedHostSlice<T>,
    device: CudaSlice<T>,
    /// Values of the batch.
    len: usize,
}

impl<T: Copy + CudaDType + DeviceRepr + ValidAsZeroBits> Pair<T> {
    fn fill(pair: &mut Option<Self>, values: &[T], copy: &Arc<CudaStream>) -> Result<()> {
        let len = values.len();
        let mut own = match pair.take() {
            Some(own) if own.host.len() >= len => own,
            // SAFETY: both are written before they are read: the host's below, the device's by the copy.
            _ => unsafe {
                Self {
                    host: copy.context().alloc_pinned(len).w()?,
                    device: copy.alloc(len).w()?,
                    len,
                }
            },
        };
        own.host.as_mut_slice().w()?[..len].copy_from_slice(values);
        *pair = Some(Self { len, ..own });
        Ok(())
    }

    fn copy(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let values = &self.host.as_slice().w()?[..self.len];
        Ok(stream.memcpy_htod(values, &mut self.device).w()?)
    }

    /// A new tensor of one dimension, of the compute stream.
    fn take(&self, gpu: &CudaDevice) -> Result<Tensor> {
        // SAFETY: the copy below writes all of it, on the stream of every reader.
        let mut values = unsafe { gpu.alloc::<T>(self.len) }?;
        gpu.memcpy_dtod(&self.device.slice(..self.len), &mut values)?;
        let storage = Storage::Cuda(CudaStorage::wrap_cuda_slice(values, gpu.clone()));
        let none = BackpropOp::none();
        Ok(Tensor::from_storage(storage, self.len, none, false))
    }
}

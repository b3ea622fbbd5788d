//! Copies a batch to the device.
//!
//! For CUDA the batch is first copied into pinned memory, from which the GPU reads by itself. The copy to the device is
//! only queued on the stream: the host does not wait for it, but later kernels on the stream do. From pageable memory,
//! the driver would copy through a buffer of its own while the host waits.

use candle_core::{Device, Result, Shape, Tensor};

/// Copies `values` to `device`, as a tensor of `shape`.
///
/// # Errors
/// Returns an error if the shape does not fit the values or if the device is out of memory.
pub fn to_device(values: &[f32], shape: impl Into<Shape>, device: &Device) -> Result<Tensor> {
    #[cfg(feature = "cuda")]
    if let Device::Cuda(cuda) = device
        && !values.is_empty()
    {
        return pinned::to_device(values, shape.into(), cuda);
    }
    Tensor::from_slice(values, shape, device)
}

#[cfg(feature = "cuda")]
mod pinned {
    use std::cell::RefCell;

    use candle_core::{
        CudaDevice, CudaStorage, Result, Shape, Storage, Tensor,
        cuda_backend::{WrapErr, cudarc::driver::PinnedHostSlice},
        op::BackpropOp,
    };

    /// One is filled while the GPU still reads the other.
    const BUFFERS: usize = 2;

    #[derive(Default)]
    struct Staging {
        buffers: Vec<PinnedHostSlice<f32>>,
        next: usize,
    }

    thread_local! {
        /// Only the trainer's thread copies: the loader's threads fill host memory.
        static STAGING: RefCell<Staging> = RefCell::default();
    }

    pub fn to_device(values: &[f32], shape: Shape, device: &CudaDevice) -> Result<Tensor> {
        if shape.elem_count() != values.len() {
            candle_core::bail!("{} values do not fit the shape {shape:?}", values.len());
        }
        STAGING.with_borrow_mut(|staging| {
            let stream = device.cuda_stream();
            let at = staging.next % BUFFERS;
            staging.next += 1;
            let fits = |b: &PinnedHostSlice<f32>| b.len() == values.len() && b.context() == stream.context();
            if !staging.buffers.get(at).is_some_and(fits) {
                // SAFETY: the buffer is filled below before anything reads it.
                let fresh = unsafe { stream.context().alloc_pinned::<f32>(values.len()) }.w()?;
                if at < staging.buffers.len() {
                    staging.buffers[at] = fresh;
                } else {
                    staging.buffers.push(fresh);
                }
            }
            let buffer = &mut staging.buffers[at];
            // `as_mut_slice` waits on the buffer's event until the copy before last, which read this buffer, has
            // finished.
            buffer.as_mut_slice().w()?.copy_from_slice(values);
            // SAFETY: the copy below writes the whole slice, and it is queued on the same stream before any reader.
            let mut slice = unsafe { device.alloc::<f32>(values.len()) }?;
            device.memcpy_htod(buffer, &mut slice)?;
            let storage = CudaStorage::wrap_cuda_slice(slice, device.clone());
            Ok(Tensor::from_storage(
                Storage::Cuda(storage),
                shape,
                BackpropOp::none(),
                false,
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_arrive_in_their_shape() {
        let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let tensor = to_device(&values, (2, 2, 3), &Device::Cpu).unwrap();
        assert_eq!(tensor.dims(), [2, 2, 3]);
        assert_eq!(tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap(), values);
        assert!(to_device(&values, (5, 3), &Device::Cpu).is_err());
    }
}

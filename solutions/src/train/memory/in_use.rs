//! The memory of tensors, as the allocator of their device counts it.

use candle_core::Device;

use super::held;
use crate::train::machine;

/// Bytes in use on a device. On the CPU, the peak is that of the whole process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the field's names")]
pub struct InUse {
    pub now: u64,
    pub peak: u64,
}

/// Returns the bytes in use on `device`, once its queued work is done; `None` if its allocator does not count them.
///
/// On a GPU these are the bytes of the pool that candle allocates from: neither CUDA's context nor cuBLAS's workspace is in it.
pub fn in_use(device: &Device) -> Option<InUse> {
    device.synchronize().ok()?;
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(gpu) => pool::in_use(gpu),
        _ => Some(InUse {
            now: held()?,
            peak: machine::peak_memory()?,
        }),
    }
}

/// Lets the peak of a GPU begin again at what is in use now.
pub fn reset_peak(device: &Device) {
    #[cfg(feature = "cuda")]
    if let Device::Cuda(gpu) = device {
        pool::reset(gpu);
    }
    #[cfg(not(feature = "cuda"))]
    let _ = device;
}

#[cfg(feature = "cuda")]
mod pool {
    use candle_core::CudaDevice;
    use candle_core::cuda_backend::cudarc::driver::{
        result::{device, mem_pool},
        sys::{CUmemPool_attribute as Attribute, CUmemoryPool},
    };

    use super::InUse;

    fn of(gpu: &CudaDevice) -> Option<CUmemoryPool> {
        // SAFETY: the device exists as long as its context.
        unsafe { device::get_mem_pool(gpu.cuda_stream().context().cu_device()) }.ok()
    }

    pub fn in_use(gpu: &CudaDevice) -> Option<InUse> {
        let pool = of(gpu)?;
        let read = |attribute| {
            let mut bytes = 0_u64;
            // SAFETY: the pool is the device's, and both attributes have 64 bits.
            unsafe { mem_pool::get_attribute(pool, attribute, (&raw mut bytes).cast()) }.ok()?;
            Some(bytes)
        };
        Some(InUse {
            now: read(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            peak: read(Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?,
        })
    }

    pub fn reset(gpu: &CudaDevice) {
        let mut bytes = 0_u64;
        if let Some(pool) = of(gpu) {
            let attribute = Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
            // SAFETY: as above. A peak that is not reset is too high, which is no reason to stop.
            let _ = unsafe { mem_pool::set_attribute(pool, attribute, (&raw mut bytes).cast()) };
        }
    }
}

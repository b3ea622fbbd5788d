//! The CUDA kernels as operators of a pass: each operator chooses grids and arguments, and a [`Launcher`] runs them.
//!
//! On a GPU, a launch is queued on the device's stream. In the tests (`tests/cuda`), the same operators run over CPU tensors
//! on the emulated grid. They were not run on a GPU. Outputs and gradients are tensors that stay on the device, and nothing
//! waits for it.

mod batch_norm;
#[cfg(feature = "cuda")]
mod cuda;
mod dropout;
mod launch;
mod layers;
mod linear;
mod loss;
mod max_points;
mod multi_tensor;
mod search;
mod target;
mod transform;
mod widest;

use std::sync::Arc;

use candle_core::Device;

pub use launch::{Argument, Grid, Launcher};
pub use multi_tensor::{MultiTensor, Norm};
pub(super) use target::Target;

/// The launcher of a GPU; `None` for another device, and without the feature `cuda`.
pub fn launcher(device: &Device) -> Option<Arc<dyn Launcher>> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(gpu) => Some(Arc::new(cuda::Cuda::new(gpu.clone()))),
        _ => None,
    }
}

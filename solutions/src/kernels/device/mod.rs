//! The CUDA kernels as operators of a pass: each operator chooses grids and arguments, and a [`Launcher`] runs them.
//!
//! On a GPU, a launch is queued on the device's stream. In the tests (`tests/cuda`), the same operators run over CPU tensors
//! on the emulated grid. Outputs and gradients are tensors that stay on the device, and nothing
//! waits for it.
//!
//! In bf16 and fp16, a pass computes as autocast: matrices (points between layers, weights, their products) are in low
//! precision, everything else is f32, and so are all sums. Logits and T-Net outputs are cast to f32.
//!
//! What a step uploads is small: the first rows of the clouds, the rows without padding, and the pieces of the parameters, whose
//! addresses are among the parameters of their launch.

mod batch_norm;
#[cfg(feature = "cuda")]
mod cuda;
mod launch;
mod layers;
mod multi_tensor;
mod operators;
mod search;
mod target;
mod transform;
mod widest;

use std::sync::Arc;

use candle_core::Device;

#[cfg(feature = "nccl")]
pub(crate) use cuda::address;
pub use launch::{Argument, Grid, Launcher, TENSORS};
pub use multi_tensor::{MultiTensor, Norm};
pub(super) use target::Target;

/// The launcher of a GPU; `None` for another device, and without the feature `cuda`.
pub fn launcher(device: &Device) -> Option<Arc<dyn Launcher>> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(gpu) => Some(Arc::new(cuda::Cuda(gpu.clone()))),
        _ => None,
    }
}

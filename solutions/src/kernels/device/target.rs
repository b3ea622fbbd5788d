//! Where the kernels' operators run, and which tape records them.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::launch::{Kernels, Launcher};
use crate::kernels::Pass;
use crate::kernels::tape::{self, DeviceBackward, Tape};

/// The launcher of an operator, and the tape of its pass in training.
pub(in crate::kernels) struct Target {
    pub(super) kernels: Kernels,
    tape: Option<Tape>,
}

impl Target {
    /// For an operator of `pass` over `x`. None if the pass runs without the kernels: they have no form for synchronised
    /// batch norm, for a lowering or for candle's graph.
    pub fn of_pass(pass: &Pass, x: &Tensor) -> Option<Self> {
        if pass.plain || pass.on_graph || pass.is_lowered() || pass.synchronised() {
            return None;
        }
        Some(Self {
            kernels: kernels(pass.launcher.as_ref(), x)?,
            tape: pass.tape.clone().filter(|_| pass.train),
        })
    }

    /// For an operator that finds its tape by its inputs.
    pub fn of_inputs(inputs: &[&Tensor]) -> Option<Self> {
        let tape = Tape::of(inputs)?;
        Some(Self {
            kernels: kernels(tape.launcher(), inputs.first()?)?,
            tape: Some(tape),
        })
    }

    /// Returns an operator's output, and appends its backward pass to the tape. `backward` holds no [`Target`]: a tape
    /// would keep itself alive.
    pub fn record(
        &self,
        inputs: &[&Tensor],
        output: Tensor,
        backward: impl FnOnce() -> DeviceBackward,
    ) -> Tensor {
        if let Some(tape) = &self.tape {
            tape::record_on_device(tape, inputs, &output, backward);
        }
        output
    }

    /// As [`crate::kernels::with_backward`].
    pub fn composed<const N: usize>(
        &self,
        inputs: [&Tensor; N],
        forward: impl FnOnce([&Tensor; N]) -> Result<Tensor>,
        backward: impl Fn(&Tensor) -> Result<[Tensor; N]> + Send + Sync + 'static,
    ) -> Result<Tensor> {
        let detached = inputs.map(Tensor::detach);
        let output = forward(detached.each_ref())?;
        Ok(self.record(&inputs, output, || {
            Box::new(move |g, wanted| {
                let gradients = backward(g)?;
                let each = gradients.into_iter().zip(wanted);
                Ok(each
                    .map(|(gradient, &wanted)| wanted.then_some(gradient))
                    .collect())
            })
        }))
    }
}

/// The launcher that the pass was given, or that of the GPU on which `x` is.
fn kernels(given: Option<&Arc<dyn Launcher>>, x: &Tensor) -> Option<Kernels> {
    match given {
        Some(launcher) => Some(Kernels(launcher.clone())),
        None => of_gpu(x),
    }
}

#[cfg(feature = "cuda")]
pub(super) fn of_gpu(x: &Tensor) -> Option<Kernels> {
    match x.device() {
        candle_core::Device::Cuda(gpu) if x.dtype() == candle_core::DType::F32 => {
            Some(Kernels(Arc::new(super::cuda::Cuda::new(gpu.clone()))))
        }
        _ => None,
    }
}

#[cfg(not(feature = "cuda"))]
pub(super) fn of_gpu(_: &Tensor) -> Option<Kernels> {
    None
}

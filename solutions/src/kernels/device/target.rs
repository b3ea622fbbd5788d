//! Where the kernels' operators run, and which tape records them.

use std::sync::Arc;

use candle_core::{DType, Result, Tensor};

use super::launch::{Kernels, Launcher};
use crate::kernels::tape::{self, DeviceBackward, Tape};
use crate::kernels::{Pass, SumOverRanks};

/// The launcher of an operator, and the tape of its pass in training.
pub(in crate::kernels) struct Target {
    pub(super) kernels: Kernels,
    tape: Option<Tape>,
    /// The dtype of matrices in low precision.
    low: Option<DType>,
    /// Synchronises batch norm.
    pub(super) sums: Option<Arc<dyn SumOverRanks>>,
}

impl Target {
    /// For an operator of `pass` over `x`. None if the pass runs without the kernels: they have no form for a lowering without
    /// a dtype of its own.
    pub fn of_pass(pass: &Pass, x: &Tensor) -> Option<Self> {
        let low = pass.low();
        if pass.plain || pass.is_lowered() && low.is_none() {
            return None;
        }
        Some(Self {
            kernels: kernels(
                pass.launcher.as_ref(),
                x,
                &[DType::F32, low.unwrap_or(DType::F32)],
            )?,
            tape: pass.tape.clone().filter(|_| pass.train),
            low,
            sums: pass.sums().cloned(),
        })
    }

    /// For an operator that finds its tape by its inputs.
    pub fn of_inputs(inputs: &[&Tensor]) -> Option<Self> {
        let tape = Tape::of(inputs)?;
        Some(Self {
            kernels: kernels(tape.launcher(), inputs.first()?, &TYPES)?,
            tape: Some(tape),
            low: None,
            sums: None,
        })
    }

    /// x in `dtype`. The gradient of a bf16 or f16 tensor may be f32; that of x has the dtype of x.
    pub fn cast(&self, x: &Tensor, dtype: DType) -> Result<Tensor> {
        let from = x.dtype();
        if from == dtype {
            return Ok(x.clone());
        }
        let y = x.detach().to_dtype(dtype)?;
        Ok(self.record(&[x], y, || {
            Box::new(move |g, _| Ok(vec![Some(g.to_dtype(from)?)]))
        }))
    }

    /// A matrix in the dtype in which the pass computes.
    pub(super) fn lowered(&self, x: &Tensor) -> Result<Tensor> {
        self.cast(x, self.low.unwrap_or(x.dtype()))
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

/// The dtypes for which kernels have a form.
const TYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// The launcher that the pass was given, or that of the GPU on which `x` is, if `x` is of one of `dtypes`.
fn kernels(given: Option<&Arc<dyn Launcher>>, x: &Tensor, dtypes: &[DType]) -> Option<Kernels> {
    match given {
        Some(launcher) => Some(Kernels(launcher.clone())),
        None => of_gpu(x).filter(|_| dtypes.contains(&x.dtype())),
    }
}

#[cfg(feature = "cuda")]
pub(super) fn of_gpu(x: &Tensor) -> Option<Kernels> {
    match x.device() {
        candle_core::Device::Cuda(gpu) => Some(Kernels(super::cuda::Cuda::of(gpu))),
        _ => None,
    }
}

#[cfg(not(feature = "cuda"))]
pub(super) fn of_gpu(_: &Tensor) -> Option<Kernels> {
    None
}

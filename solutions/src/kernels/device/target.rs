//! Where the kernels' operators run, and which tape records them.

use std::sync::Arc;

use candle_core::{DType, Result, Tensor};

use super::launch::Kernels;
use super::launcher;
use crate::kernels::tape::Tape;
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
        Ok(self.record(&[x], y, move |g, _| Ok(vec![Some(g.to_dtype(from)?)])))
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
        backward: impl Fn(&Tensor, &[bool]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
    ) -> Tensor {
        if let Some(tape) = &self.tape {
            tape.record(inputs, &output, backward);
        }
        output
    }
}

/// The dtypes for which kernels have a form.
const TYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// The launcher that the pass was given, or that of the GPU on which `x` is, if `x` is of one of `dtypes`.
fn kernels(given: Option<&Kernels>, x: &Tensor, dtypes: &[DType]) -> Option<Kernels> {
    given
        .cloned()
        .or_else(|| launcher(x.device()).filter(|_| dtypes.contains(&x.dtype())))
}

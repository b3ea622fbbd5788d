//! Operators in low precision: what a pass applies before and after each of its operators. `precision` implements it.

use std::{fmt, sync::Arc};

use candle_core::{DType, Result, Tensor};

use super::Pass;
use super::device::Target;

// ANCHOR: Operator
/// The kinds of operators of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the field's names")]
pub enum Operator {
    Matmul,
    Linear,
    Convolution,
    Relu,
    Max,
    Dropout,
    Reshape,
    Add,
    Concatenate,
    Sum,
    Mean,
    Norm,
    Exp,
    Log,
    Power,
    Softmax,
    CrossEntropy,
    BatchNorm,
    LayerNorm,
    MeanSquaredError,
}
// ANCHOR_END: Operator

/// Decides in which precision the operators of a pass compute. Both functions must be differentiable in `pass`: candle's
/// operators are in a plain pass, and [`super::each`] is in any.
pub trait Lowering: fmt::Debug + Send + Sync {
    /// Replaces the input `x` of `operator`.
    fn input(&self, pass: &Pass, operator: Operator, x: &Tensor) -> Result<Tensor>;

    /// Replaces the output `y` of `operator` by an fp32 tensor.
    fn output(&self, pass: &Pass, operator: Operator, y: Tensor) -> Result<Tensor>;

    /// Whether it needs candle's own operators, because their inputs are no longer fp32. Where the CUDA kernels compute in
    /// its dtype, they run instead.
    fn is_plain(&self) -> bool {
        false
    }

    /// The dtype of the matrices of the CUDA kernels, if autocast with this dtype is what it does. Vectors, statistics and
    /// sums are f32.
    fn dtype(&self) -> Option<DType> {
        None
    }
}

impl Pass {
    /// The same pass with `lowering` applied to its operators, if there is one. It then runs them one at a time, unless
    /// the CUDA kernels compute in its format.
    #[must_use]
    pub fn lowered(mut self, lowering: Option<Arc<dyn Lowering>>) -> Self {
        self.lowering = lowering;
        self
    }

    /// Whether operators run in low precision.
    pub fn is_lowered(&self) -> bool {
        self.lowering.is_some()
    }

    /// Whether candle's own operators run, unless the CUDA kernels do.
    pub(super) fn is_plain(&self) -> bool {
        self.plain || self.lowering.as_ref().is_some_and(|l| l.is_plain())
    }

    /// The dtype of the matrices of the CUDA kernels in low precision.
    pub(super) fn low(&self) -> Option<DType> {
        self.lowering.as_ref().filter(|_| !self.plain)?.dtype()
    }

    /// `x` in `dtype`. Its gradient has the dtype of `x`.
    pub fn cast(&self, x: &Tensor, dtype: DType) -> Result<Tensor> {
        match Target::of_pass(self, x) {
            Some(device) => device.cast(x, dtype),
            None => x.to_dtype(dtype),
        }
    }

    /// Runs one operator on `inputs`, with this pass's lowering applied to inputs and output.
    ///
    /// # Errors
    /// Returns the errors of the lowering and of `run`.
    pub fn operate<const N: usize>(
        &self,
        operator: Operator,
        inputs: [&Tensor; N],
        run: impl FnOnce([Tensor; N]) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let Some(lowering) = &self.lowering else {
            return run(inputs.map(Tensor::clone));
        };
        let mut cast = inputs.map(Tensor::clone);
        for x in &mut cast {
            *x = lowering.input(self, operator, x)?;
        }
        lowering.output(self, operator, run(cast)?)
    }
}

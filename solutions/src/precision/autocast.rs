//! Autocast: the dtype that each operator computes in (PyTorch's list for CUDA), applied to the operators of a pass.

use std::sync::Arc;

use candle_core::{DType, Result, Tensor};

pub use crate::kernels::Operator;
use crate::kernels::{Lowering, Pass};

use super::Format;
use super::emulate::{Border, Emulation, GradientCensus};

// ANCHOR: Casting
/// How an operator's inputs are cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Casting {
    /// To the low-precision dtype: matrix products, which run on tensor cores with fp32 accumulation.
    Low,
    /// To fp32: long sums, and functions whose result has a larger range than their input.
    Full,
    /// To the widest dtype among the inputs: operators that combine tensors without losing bits.
    Widest,
    /// Not cast: comparisons, views, and operators that are safe in any dtype.
    AsIs,
}
// ANCHOR_END: Casting

/// Returns how autocast casts the inputs of `operator`.
pub fn autocast(operator: Operator) -> Casting {
    use Operator::*;
    match operator {
        Matmul | Linear | Convolution => Casting::Low,
        Sum | Mean | Norm | Exp | Log | Power | Softmax | CrossEntropy | BatchNorm | LayerNorm
        | MeanSquaredError => Casting::Full,
        Add | Concatenate => Casting::Widest,
        Relu | Max | Dropout | Reshape => Casting::AsIs,
    }
}

/// Runs the operators of a pass under autocast. Weights stay in fp32 and are cast as the input of an operator, so they are
/// their own master weights. Between operators all tensors are fp32; the output of a low-precision operator holds values of
/// the low-precision format. The CUDA kernels also keep the points between their layers in that format.
#[derive(Clone, Debug)]
pub struct Autocast {
    policy: fn(Operator) -> Casting,
    low: Low,
    /// Whether the policy is [`autocast`], which the CUDA kernels follow.
    standard: bool,
}

#[derive(Clone, Debug)]
enum Low {
    Real(DType),
    Emulated(Arc<Emulation>),
}

impl Autocast {
    /// Uses a dtype that the device supports: our kernels on a GPU, candle's operators elsewhere.
    pub fn real(dtype: DType) -> Self {
        Self::by_standard(Low::Real(dtype))
    }

    fn by_standard(low: Low) -> Self {
        Self {
            policy: autocast,
            low,
            standard: true,
        }
    }

    /// Emulates `format` in fp32 arithmetic: inputs, outputs and gradients of each low-precision operator are rounded to
    /// the format. Sums within an operator stay in fp32, as on tensor cores. This shows the accuracy of a format, not its
    /// speed.
    ///
    /// tf32 rounds the inputs of a product only. fp8 rounds inputs to E4M3, incoming gradients to E5M2, each tensor with its
    /// own scale, and outputs to bf16.
    pub fn emulated(format: Format) -> Self {
        Self::by_standard(Low::Emulated(Arc::new(Emulation::of(format))))
    }

    /// Uses another rule in place of [`autocast`].
    #[must_use]
    pub fn by_policy(mut self, policy: fn(Operator) -> Casting) -> Self {
        (self.policy, self.standard) = (policy, false);
        self
    }

    /// Rounds with `round` and computes the fp8 scale of a tensor with `scale`. Applies to emulation only.
    #[must_use]
    pub fn by_rounding(mut self, round: fn(f32, Format) -> f32, scale: fn(f32, Format, u32) -> f32) -> Self {
        if let Low::Emulated(emulation) = &mut self.low {
            let emulation = Arc::make_mut(emulation);
            (emulation.round, emulation.scale) = (Some(round), scale);
        }
        self
    }

    /// Shows `census` every gradient that is rounded. Applies to emulation only.
    #[must_use]
    pub fn counted(mut self, census: Arc<dyn GradientCensus>) -> Self {
        if let Low::Emulated(emulation) = &mut self.low {
            Arc::make_mut(emulation).census = Some(census);
        }
        self
    }
}

impl Lowering for Autocast {
    fn input(&self, pass: &Pass, operator: Operator, x: &Tensor) -> Result<Tensor> {
        match ((self.policy)(operator), &self.low) {
            (Casting::Low, Low::Real(dtype)) => pass.cast(x, *dtype),
            (Casting::Low, Low::Emulated(emulation)) => emulation.border(pass, x, Border::Input),
            // Weights are fp32, so the widest dtype is.
            (Casting::Full | Casting::Widest, _) => pass.cast(x, DType::F32),
            (Casting::AsIs, _) => Ok(x.clone()),
        }
    }

    fn output(&self, pass: &Pass, operator: Operator, y: Tensor) -> Result<Tensor> {
        match ((self.policy)(operator), &self.low) {
            (Casting::Low, Low::Emulated(emulation)) => emulation.border(pass, &y, Border::Output),
            _ => pass.cast(&y, DType::F32),
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self.low, Low::Real(_))
    }

    fn dtype(&self) -> Option<DType> {
        match self.low {
            Low::Real(dtype) if self.standard => Some(dtype),
            _ => None,
        }
    }
}

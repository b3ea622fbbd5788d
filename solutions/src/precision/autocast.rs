//! Which number type an operator takes (PyTorch's list for CUDA autocast), and a pass's operators by that rule.

use std::sync::Arc;

use candle_core::{DType, Result, Tensor};

pub use crate::kernels::Operator;
use crate::kernels::{Lowering, Pass};

use super::emulate::{Border, Emulation};
use super::{Format, GradientCensus};

/// What an operator does with its inputs' types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Casting {
    /// All to the low type: products, which tensor cores take and whose sums they keep in fp32.
    Low,
    /// All to fp32: long sums, and functions whose result outgrows their input.
    Full,
    /// All to the widest type that comes: several tensors meet and none may lose bits.
    Widest,
    /// As it comes: comparisons, views, and what is safe in either.
    AsIs,
}

/// The rule for `operator`.
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

/// A pass under autocast. Weights stay fp32 and are cast where an operator takes them, so they are their own master
/// copy; between operators tensors are fp32, of which those that a low operator gave hold low numbers.
#[derive(Clone, Debug)]
pub struct Autocast {
    policy: fn(Operator) -> Casting,
    low: Low,
}

#[derive(Clone, Debug)]
enum Low {
    Real(DType),
    Emulated(Arc<Emulation>),
}

impl Autocast {
    /// In a number type that the device has.
    pub fn real(dtype: DType) -> Self {
        Self {
            policy: autocast,
            low: Low::Real(dtype),
        }
    }

    /// In fp32 arithmetic, rounded to `format` at the borders of each operator that is to run low: what it takes, what
    /// it gives, and the gradients on both sides. Sums inside stay fp32, as tensor cores keep theirs. Shows accuracy,
    /// not speed.
    ///
    /// tf32 rounds what a product takes and not what it gives. fp8 takes E4M3, and E5M2 in gradients, each tensor with
    /// a scale of its own, and gives bf16.
    pub fn emulated(format: Format) -> Self {
        Self {
            policy: autocast,
            low: Low::Emulated(Arc::new(Emulation::of(format))),
        }
    }

    /// Another rule.
    #[must_use]
    pub fn by_policy(mut self, policy: fn(Operator) -> Casting) -> Self {
        self.policy = policy;
        self
    }

    /// Another function that rounds, and one that finds a tensor's fp8 scale; of the emulated form only.
    #[must_use]
    pub fn by_rounding(mut self, round: fn(f32, Format) -> f32, scale: fn(f32, Format, u32) -> f32) -> Self {
        if let Low::Emulated(emulation) = &mut self.low {
            let emulation = Arc::make_mut(emulation);
            (emulation.round, emulation.scale) = (Some(round), scale);
        }
        self
    }

    /// Notes the size of every gradient that is rounded; of the emulated form only.
    #[must_use]
    pub fn counted(mut self, census: Arc<GradientCensus>) -> Self {
        if let Low::Emulated(emulation) = &mut self.low {
            Arc::make_mut(emulation).census = Some(census);
        }
        self
    }
}

impl Lowering for Autocast {
    fn input(&self, pass: &Pass, operator: Operator, x: &Tensor) -> Result<Tensor> {
        match ((self.policy)(operator), &self.low) {
            (Casting::Low, Low::Real(dtype)) => x.to_dtype(*dtype),
            (Casting::Low, Low::Emulated(emulation)) => emulation.border(pass, x, Border::Input),
            (Casting::Full, _) => x.to_dtype(DType::F32),
            (Casting::Widest | Casting::AsIs, _) => Ok(x.clone()),
        }
    }

    fn output(&self, pass: &Pass, operator: Operator, y: Tensor) -> Result<Tensor> {
        match ((self.policy)(operator), &self.low) {
            (Casting::Low, Low::Emulated(emulation)) => emulation.border(pass, &y, Border::Output),
            _ => y.to_dtype(DType::F32),
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self.low, Low::Real(_))
    }
}

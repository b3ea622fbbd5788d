//! Operators in fewer bits: what a pass asks before and after each of its operators. `precision` answers.

use std::{fmt, sync::Arc};

use candle_core::{Result, Tensor};

use super::Pass;

/// Kinds of operators that a network is made of.
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

/// Says what the operators of a pass compute in. Both functions must have a gradient that `pass` follows, as candle's
/// operators have in a plain pass, and [`super::each`] in any.
pub trait Lowering: fmt::Debug + Send + Sync {
    /// What `operator` takes in the place of `x`.
    ///
    /// # Errors
    /// candle's.
    fn input(&self, pass: &Pass, operator: Operator, x: &Tensor) -> Result<Tensor>;

    /// What it hands on in the place of its result `y`: an fp32 tensor.
    ///
    /// # Errors
    /// candle's.
    fn output(&self, pass: &Pass, operator: Operator, y: Tensor) -> Result<Tensor>;

    /// Whether it needs candle's own operators, in a number type that is no longer fp32.
    fn is_plain(&self) -> bool {
        false
    }
}

impl Pass {
    /// The same pass with its operators by `lowering`, if there is one. It then runs them one at a time: fused ones are
    /// fp32 throughout.
    #[must_use]
    pub fn lowered(mut self, lowering: Option<Arc<dyn Lowering>>) -> Self {
        self.plain |= lowering.as_ref().is_some_and(|l| l.is_plain());
        self.lowering = lowering;
        self
    }

    /// Whether operators run in fewer bits.
    pub fn is_lowered(&self) -> bool {
        self.lowering.is_some()
    }

    /// Runs one operator on `inputs`, as this pass's lowering has it.
    ///
    /// # Errors
    /// The lowering's, and those of `run`.
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

//! Operators that are written with candle's operators, for passes whose backward pass is the tape's.
//!
//! The tape does not record candle's operators. These two functions record a whole composition of them as one operator.

use candle_core::{DType, Result, Tensor, Var, bail};

use super::Pass;
use super::device::Target;
use super::tape::Tape;
use super::values::fused;

/// A scalar loss of `outputs` that `loss` computes with candle's operators.
///
/// # Errors
/// Returns the errors of `loss`, and an error if its result is not a scalar or does not depend on the outputs.
pub fn loss_by_candle(outputs: &Tensor, loss: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let Some(tape) = Tape::of(&[outputs]) else {
        return loss(outputs);
    };
    let leaf = Var::from_tensor(&outputs.detach())?;
    let value = loss(&leaf)?;
    if value.rank() != 0 {
        bail!("a loss must be a scalar; this one has shape {:?}", value.dims());
    }
    let Some(gradient) = value.backward()?.remove(&leaf) else {
        bail!("the loss does not depend on the outputs");
    };
    let value = value.detach().to_dtype(DType::F32)?;
    tape.record(&[outputs], &value, move |g, _| {
        let product = gradient.to_dtype(DType::F32)?.broadcast_mul(g)?;
        Ok(vec![Some(product.to_dtype(gradient.dtype())?)])
    });
    Ok(value)
}

/// The output of an operator over `inputs`, which `forward` computes with candle's operators. In a training pass on the
/// tape, `backward` turns the gradient of the output into the gradients of the inputs, in their order and shapes.
/// Otherwise the operator is on candle's graph, and `backward` is not called.
pub fn with_backward<const N: usize>(
    inputs: [&Tensor; N],
    pass: &Pass,
    forward: impl FnOnce([&Tensor; N]) -> Result<Tensor>,
    backward: impl Fn(&Tensor) -> Result<[Tensor; N]> + Send + Sync + 'static,
) -> Result<Tensor> {
    let by_kernels = inputs.first().is_some_and(|x| Target::of_pass(pass, x).is_some());
    let on_tape = pass.train && (by_kernels || fused(pass, &inputs));
    composed(pass.tape.as_ref().filter(|_| on_tape), inputs, forward, backward)
}

/// As [`with_backward`], of an operator that is recorded if there is a `tape`.
pub(super) fn composed<const N: usize>(
    tape: Option<&Tape>,
    inputs: [&Tensor; N],
    forward: impl FnOnce([&Tensor; N]) -> Result<Tensor>,
    backward: impl Fn(&Tensor) -> Result<[Tensor; N]> + Send + Sync + 'static,
) -> Result<Tensor> {
    let Some(tape) = tape else {
        return forward(inputs);
    };
    let detached = inputs.map(Tensor::detach);
    let mut output = forward(detached.each_ref())?.detach();
    // A forward pass that returns its argument: the tape tells tensors apart by their ids.
    if inputs.iter().any(|input| input.id() == output.id()) {
        output = output.copy()?;
    }
    tape.record(&inputs, &output, move |g, wanted| {
        let each = backward(g)?.into_iter().zip(wanted);
        Ok(each
            .map(|(gradient, wanted)| wanted.then_some(gradient))
            .collect())
    });
    Ok(output)
}

//! Operators that are written with candle's operators, for passes whose backward pass is the tape's.
//!
//! The tape does not record candle's operators. These two functions record a whole composition of them as one operator.

use candle_core::{DType, Result, Tensor, Var, bail};

use super::device::Target;
use super::values::{fused, read};
use super::{Pass, tape};

/// A scalar loss of `outputs` that `loss` computes with candle's operators.
///
/// # Errors
/// Returns the errors of `loss`, and an error if its result is not a scalar or does not depend on the outputs.
pub fn loss_by_candle(outputs: &Tensor, loss: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let Some(tape) = tape::Tape::of(&[outputs]) else {
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
    if let Some(device) = Target::of_inputs(&[outputs]) {
        return Ok(device.loss(
            outputs,
            value.detach().to_dtype(DType::F32)?,
            gradient.contiguous()?,
        ));
    }
    let gradient = read(&gradient)?;
    let value = value.detach().to_scalar::<f32>()?;
    tape::record(Some(&tape), &[outputs], vec![value], &[], || {
        Box::new(move |g, _| Ok(vec![Some(gradient.iter().map(|v| v * g[0]).collect())]))
    })
}

/// The output of an operator over `inputs`, which `forward` computes with candle's operators. In a training pass on the
/// tape, `backward` turns the gradient of the output into the gradients of the inputs, in their order and shapes.
/// Otherwise the operator is on candle's graph, and `backward` is not called.
///
/// # Errors
/// Returns the errors of `forward`.
pub fn with_backward<const N: usize>(
    inputs: [&Tensor; N],
    pass: &Pass,
    forward: impl FnOnce([&Tensor; N]) -> Result<Tensor>,
    backward: impl Fn(&Tensor) -> Result<[Tensor; N]> + Send + Sync + 'static,
) -> Result<Tensor> {
    if let (true, Some(device)) = (pass.train, inputs.first().and_then(|x| Target::of_pass(pass, x))) {
        return device.composed(inputs, forward, backward);
    }
    if !pass.train || !fused(pass, &inputs) {
        return forward(inputs);
    }
    let detached = inputs.map(Tensor::detach);
    let output = forward(detached.each_ref())?;
    let shape = output.dims().to_vec();
    pass.record(&inputs, read(&output)?, output.dims(), || {
        Box::new(move |g, wanted| {
            let g = Tensor::from_vec(g, shape.as_slice(), &candle_core::Device::Cpu)?;
            let grads = backward(&g)?;
            let each = grads.iter().zip(wanted);
            each.map(|(gradient, &wanted)| wanted.then(|| read(gradient)).transpose())
                .collect()
        })
    })
}

//! What both kinds of split layers use.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};

use crate::parallel::Collective;

// ANCHOR: LinearGrads
/// The gradients of a linear layer y = x·Wᵀ + b, or of one rank's part of it.
#[derive(Clone, Debug)]
pub struct LinearGrads {
    /// The gradient of the input, in its shape.
    pub x: Tensor,
    /// The gradient of the weight, in its shape.
    pub weight: Tensor,
    /// The gradient of the bias, in its shape.
    pub bias: Tensor,
}
// ANCHOR_END: LinearGrads

/// Returns the sum of `tensor` over all ranks, by one all-reduce in f32. The sum has the shape and the dtype of `tensor`, and
/// is bit-identical on every rank.
///
/// # Errors
/// Returns an error if the all-reduce fails or candle does.
pub fn sum_over_ranks(collective: &dyn Collective, tensor: &Tensor) -> Result<Tensor> {
    let mut numbers = tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
    collective.all_reduce(&mut numbers)?;
    let sum = Tensor::from_vec(numbers, tensor.shape(), &Device::Cpu)?;
    Ok(sum.to_dtype(tensor.dtype())?.to_device(tensor.device())?)
}

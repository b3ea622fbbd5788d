//! A linear layer whose inputs are split over the ranks.

use anyhow::Result;
use candle_core::Tensor;

use super::{LinearGrads, sum_over_ranks};
use crate::parallel::Collective;

/// Returns all outputs of a linear layer, x·Wᵀ + b: `[rows, outputs]`, the same on every rank. Each rank has its columns of
/// the input, `x_part` of `[rows, inputs / p]`, and the same columns of W, `weight_part` of `[outputs, inputs / p]`. `bias`
/// is whole on every rank and is added once, after the only all-reduce.
///
/// # Errors
/// Returns an error if the shapes do not fit, or if the all-reduce fails.
pub fn row_parallel(
    collective: &dyn Collective,
    x_part: &Tensor,
    weight_part: &Tensor,
    bias: &Tensor,
) -> Result<Tensor> {
    let part = x_part.matmul(&weight_part.t()?)?;
    Ok(sum_over_ranks(collective, &part)?.broadcast_add(bias)?)
}

/// The backward pass of [`row_parallel`], from the gradient of all outputs, which is the same on every rank. Nothing is sent:
/// the gradients of `x_part` and `weight_part` depend on this rank's part alone, and every rank computes that of the bias.
///
/// # Errors
/// Returns an error if the shapes do not fit.
pub fn row_parallel_backward(x_part: &Tensor, weight_part: &Tensor, grad_y: &Tensor) -> Result<LinearGrads> {
    Ok(LinearGrads {
        x: grad_y.matmul(weight_part)?,
        weight: grad_y.t()?.matmul(x_part)?,
        bias: grad_y.sum(0)?,
    })
}

//! A linear layer whose outputs are split over the ranks.

use anyhow::Result;
use candle_core::Tensor;

use super::{LinearGrads, sum_over_ranks};
use crate::parallel::Collective;

/// Returns this rank's outputs of a linear layer, x·Wᵀ + b: `[rows, outputs / p]` for `x` of `[rows, inputs]`, which is the
/// same on every rank. `weight` is the rank's rows of W, `[outputs / p, inputs]`, and `bias` its part of b. Nothing is sent.
///
/// # Errors
/// Returns an error if the shapes do not fit.
pub fn column_parallel(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    Ok(x.matmul(&weight.t()?)?.broadcast_add(bias)?)
}

/// The backward pass of [`column_parallel`], from the gradient of this rank's outputs.
///
/// Every rank read all of `x`, so the gradient of `x` is the sum over the ranks, by one all-reduce. The gradients of weight
/// and bias are those of this rank's part and stay here.
///
/// # Errors
/// Returns an error if the shapes do not fit, or if the all-reduce fails.
pub fn column_parallel_backward(
    collective: &dyn Collective,
    x: &Tensor,
    weight: &Tensor,
    grad_y: &Tensor,
) -> Result<LinearGrads> {
    Ok(LinearGrads {
        x: sum_over_ranks(collective, &grad_y.matmul(weight)?)?,
        weight: grad_y.t()?.matmul(x)?,
        bias: grad_y.sum(0)?,
    })
}

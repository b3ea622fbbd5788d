//! The plain candle compositions: slow, simple, and the specification against which the fused operators are tested.

use std::ops::Range;

use candle_core::{Result, Tensor};

use super::clouds::each_plain;
use super::ranks::{sum_over_ranks, total};
use super::{BatchNorm, Pass};

/// A layer of a shared MLP with batch norm folded into its weight: relu(w·p + b) for each point p, all of them in one
/// product of matrices. x `[…, in]`, w `[out, in]`, b `[out]` → `[…, out]`.
///
/// # Errors
/// Returns an error if the shapes do not match.
pub fn shared_layer(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let mut shape = x.dims().to_vec();
    let input = shape.pop().unwrap_or_default();
    shape.push(w.dim(0)?);
    let rows = x.reshape(((), input))?;
    relu(&rows.matmul(&w.t()?)?.broadcast_add(b)?)?.reshape(shape)
}

/// The slope at 0 is 0, as in PyTorch; candle's own ReLU has 1 there. NaN stays NaN.
pub(super) fn relu(x: &Tensor) -> Result<Tensor> {
    x.detach().le(0.0)?.where_cond(&x.zeros_like()?, x)
}

/// Batch norm over the rows of x `[rows, channels]`: by the statistics of the batch, of all ranks if they are
/// synchronised, which then update the running ones; in evaluation by the running ones.
pub(super) fn batch_norm(
    x: &Tensor,
    (gamma, beta): (&Tensor, &Tensor),
    bn: &BatchNorm,
    pass: &Pass,
) -> Result<Tensor> {
    let (mean, var) = if pass.train {
        let mut rows = [x.dim(0)? as f64];
        total(pass.sums(), &mut rows)?;
        let [n] = rows;
        let mean_of_rows = |x: &Tensor| {
            let sum = x.sum_keepdim(0)?;
            (match pass.sums() {
                None => sum,
                Some(sums) => sum_over_ranks(&sum, sums)?,
            }) / n
        };
        let mean = mean_of_rows(x)?;
        let var = mean_of_rows(&x.broadcast_sub(&mean)?.sqr()?)?;
        let unbiased = if n > 1.0 { n / (n - 1.0) } else { 1.0 };
        let update = |running: &candle_core::Var, batch: &Tensor, factor: f64| {
            let batch = (batch.detach().squeeze(0)? * factor)?;
            running.set(&((running.as_tensor() * (1.0 - bn.momentum))? + (batch * bn.momentum)?)?)
        };
        update(&bn.mean, &mean, 1.0)?;
        update(&bn.var, &var, unbiased)?;
        (mean, var)
    } else {
        (
            bn.mean.as_detached_tensor().unsqueeze(0)?,
            bn.var.as_detached_tensor().unsqueeze(0)?,
        )
    };
    x.broadcast_sub(&mean)?
        .broadcast_div(&(var + bn.eps)?.sqrt()?)?
        .broadcast_mul(gamma)?
        .broadcast_add(beta)
}

/// The maximum of each channel over a cloud's points: `[clouds, points, channels]` → `[clouds, channels]`.
/// candle's `max` gives every tied point the whole gradient; gathering at the first arg-max gives it to one. candle's
/// `max` also ignores a NaN unless it comes first; here, as in PyTorch, NaN counts as the greatest value.
///
/// # Errors
/// Returns an error for another shape, or for a cloud without points.
pub fn max_points(x: &Tensor) -> Result<Tensor> {
    let values = x.detach();
    let nan = values.ne(&values)?;
    let first = nan
        .max_keepdim(1)?
        .where_cond(&nan.argmax_keepdim(1)?, &values.argmax_keepdim(1)?)?;
    x.gather(&first, 1)?.squeeze(1)
}

/// [`max_points`] of each of `clouds`: `[points of all clouds, channels]` → `[clouds, channels]`.
pub(super) fn max_of_clouds(x: &Tensor, clouds: &[Range<usize>]) -> Result<Tensor> {
    each_plain(x, clouds, |x, _| max_points(x))
}

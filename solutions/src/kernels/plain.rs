//! The plain candle compositions: slow, simple, and what the fused operators are held to.

use candle_core::{Result, Tensor};

use super::ranks::{sum_over_ranks, total};
use super::{BatchNorm, Operator, Pass};

pub fn linear_bn(x: &Tensor, w: &Tensor, bn: &BatchNorm, relu: bool, pass: &Pass) -> Result<Tensor> {
    // In fewer bits the two are not one operator: only the product is low.
    if relu && !pass.train && !pass.is_lowered() {
        let (w, b) = bn.folded(w)?;
        // Of variables candle keeps a graph, and with it every layer's output; an evaluation needs the last alone.
        return Ok(shared_layer(x, &w, &b)?.detach());
    }
    let y = pass.operate(Operator::Linear, [x, w], |[x, w]| x.matmul(&w.t()?))?;
    let inputs = [&y, bn.gamma.as_tensor(), bn.beta.as_tensor()];
    let y = pass.operate(Operator::BatchNorm, inputs, |[y, gamma, beta]| {
        batch_norm(&y, (&gamma, &beta), bn, pass)
    })?;
    if relu {
        pass.operate(Operator::Relu, [&y], |[y]| self::relu(&y))
    } else {
        Ok(y)
    }
}

/// A layer of a shared MLP, batch norm folded into its weight: relu(w·p + b) for each point p, all of them in one
/// product of matrices. x `[…, in]`, w `[out, in]`, b `[out]` → `[…, out]`.
///
/// # Errors
/// Shapes that do not fit.
pub fn shared_layer(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let mut shape = x.dims().to_vec();
    let input = shape.pop().unwrap_or_default();
    shape.push(w.dim(0)?);
    let rows = x.reshape(((), input))?;
    relu(&rows.matmul(&w.t()?)?.broadcast_add(b)?)?.reshape(shape)
}

/// candle's own ReLU has slope 1 at 0; PyTorch's, and this one, has 0. What is no number stays so.
pub(super) fn relu(x: &Tensor) -> Result<Tensor> {
    x.detach().le(0.0)?.where_cond(&x.zeros_like()?, x)
}

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
        let (mean, var) = match pass.sums() {
            None => {
                let mean = x.mean_keepdim(0)?;
                let var = x.broadcast_sub(&mean)?.sqr()?.mean_keepdim(0)?;
                (mean, var)
            }
            Some(sums) => {
                let mean = (sum_over_ranks(&x.sum_keepdim(0)?, sums)? / n)?;
                let squares = x.broadcast_sub(&mean)?.sqr()?.sum_keepdim(0)?;
                (mean, (sum_over_ranks(&squares, sums)? / n)?)
            }
        };
        let keep = 1.0 - bn.momentum;
        let unbiased = if n > 1.0 { n / (n - 1.0) } else { 1.0 };
        let (m, v) = (mean.detach().squeeze(0)?, (var.detach().squeeze(0)? * unbiased)?);
        bn.mean
            .set(&((bn.mean.as_tensor() * keep)? + (m * bn.momentum)?)?)?;
        bn.var
            .set(&((bn.var.as_tensor() * keep)? + (v * bn.momentum)?)?)?;
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

/// The greatest value of each channel over a cloud's points: `[clouds, points, channels]` → `[clouds, channels]`.
/// candle's `max` gives every tied point the whole gradient; gathering at the first arg-max gives it to one. And it
/// passes over what is no number, unless that comes first; here, as in PyTorch, it counts as the greatest.
///
/// # Errors
/// Another shape; a cloud without points.
pub fn max_points(x: &Tensor) -> Result<Tensor> {
    let values = x.detach();
    let lost = values.ne(&values)?;
    let first = lost
        .max_keepdim(1)?
        .where_cond(&lost.argmax_keepdim(1)?, &values.argmax_keepdim(1)?)?;
    x.gather(&first, 1)?.squeeze(1)
}

pub fn dropout(x: &Tensor, p: f32, layer: u64, pass: &Pass) -> Result<Tensor> {
    let mask = super::dropout::mask(x.dims(), p, layer, pass);
    let mask = Tensor::from_vec(mask, x.shape(), x.device())?;
    x * mask.to_dtype(x.dtype())?
}

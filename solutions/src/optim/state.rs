//! What the optimizers share.

use anyhow::Result;
use candle_core::{Tensor, Var};

use crate::kernels::multi_tensor;

/// A variable of zeros for each parameter, with the same shape, dtype and device.
pub(super) fn zeros_like<'a>(params: impl IntoIterator<Item = &'a Var>) -> Result<Vec<Var>> {
    let zeros = |p: &Var| Ok(Var::zeros(p.shape(), p.dtype(), p.device())?);
    params.into_iter().map(zeros).collect()
}

/// Splits `n` parameters into those that the multi-tensor kernels support and the others. `of` returns a parameter's
/// tensors. Returns a list of each tensor of the first, and the indices of the others.
pub(super) fn served<'a, const K: usize>(
    n: usize,
    of: impl Fn(usize) -> [&'a Tensor; K],
) -> ([Vec<&'a Tensor>; K], Vec<usize>) {
    let (served, others): (Vec<_>, Vec<_>) =
        (0..n).partition(|&i| of(i).into_iter().all(multi_tensor::serves));
    let list = |k: usize| served.iter().map(|&i| of(i)[k]).collect();
    (std::array::from_fn(list), others)
}

//! `x·wᵀ + b`, the last layer of a head; and `x·wᵀ` alone.

use candle_core::{Result, Tensor, bail};

use super::device::Target;
use super::matmul::matmul;
use super::matrix::Matrix;
use super::tape::{self, Backward};
use super::values::{Values, is_fused};
use super::{Pass, vector};

/// `x·wᵀ + b`. x `[rows, in]`, w `[out, in]`, b `[out]` → `[rows, out]`.
///
/// # Errors
/// Returns an error if shapes do not match, with what was expected.
pub fn linear(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (rows, n) = match (x.dims(), w.dims(), b.dims()) {
        (&[rows, k], &[n, wk], &[bn]) if (wk, bn) == (k, n) => (rows, n),
        (x, w, b) => bail!("linear: expected x [rows, in], w [out, in], b [out], got {x:?}, {w:?}, {b:?}"),
    };
    if let Some(device) = Target::of_inputs(&[x]) {
        return device.linear(x, w, b);
    }
    let Some(tape) = tape::Tape::of(&[x]).filter(|_| is_fused(w) && is_fused(b)) else {
        return x.matmul(&w.t()?)?.broadcast_add(b);
    };
    let (mut y, backward) = multiply(x, w)?;
    let bc = b.contiguous()?;
    let bias = Values::of(&bc)?;
    y.chunks_exact_mut(n).for_each(|row| vector::add(row, &bias));
    tape::record(Some(&tape), &[x, w, b], y, &[rows, n], || backward)
}

/// x·wᵀ, its backward pass recorded by `pass`. x `[rows, in]`, w `[out, in]` → `[rows, out]`.
pub(super) fn product(x: &Tensor, w: &Tensor, pass: &Pass) -> Result<Tensor> {
    let (y, backward) = multiply(x, w)?;
    pass.record(&[x, w], y, &[x.dim(0)?, w.dim(0)?], || backward)
}

/// x·wᵀ, and the gradients of x and w, and of a bias if there is a third input.
fn multiply(x: &Tensor, w: &Tensor) -> Result<(Vec<f32>, Backward)> {
    let ((rows, k), n) = (x.dims2()?, w.dim(0)?);
    let (x, w) = (x.contiguous()?.detach(), w.contiguous()?.detach());
    let y = {
        let (x, w) = (Values::of(&x)?, Values::of(&w)?);
        matmul([rows, k, n], Matrix::dense(&x, k), Matrix::dense(&w, k).t())
    };
    let backward = move |g: Vec<f32>, wanted: &[bool]| {
        let (x, w, g) = (Values::of(&x)?, Values::of(&w)?, Matrix::dense(&g, n));
        let dx = || matmul([rows, n, k], g, Matrix::dense(&w, k));
        let dw = || matmul([n, rows, k], g.t(), Matrix::dense(&x, k));
        let mut gradients = vec![wanted[0].then(dx), wanted[1].then(dw)];
        gradients.extend(wanted.get(2).map(|wanted| {
            wanted.then(|| {
                let mut sum = vec![0.0; n];
                vector::column_sums(g.data, &mut sum);
                sum
            })
        }));
        Ok(gradients)
    };
    Ok((y, Box::new(backward)))
}

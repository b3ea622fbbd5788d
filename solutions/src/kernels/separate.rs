//! A layer's operators one at a time, each on the pass's tape: for training passes that round between them on the CPU.

use candle_core::{Result, Tensor};
use rayon::prelude::*;

use super::linear_bn::{batch_norm, read};
use super::matmul::{Matrix, Sizes, matmul};
use super::shared_mlp::MlpLayer;
use super::values::Values;
use super::{BatchNorm, Operator, Pass};

/// Layer after layer over the rows, then the greatest value of each cloud's points where `clouds` says how many.
pub(super) fn layers(x: &Tensor, layers: &[MlpLayer], clouds: Option<usize>, pass: &Pass) -> Result<Tensor> {
    let mut y = x.clone();
    for l in layers {
        y = pass.operate(Operator::Linear, [&y, l.weight], |[x, w]| product(&x, &w, pass))?;
        let inputs = [&y, l.bn.gamma.as_tensor(), l.bn.beta.as_tensor()];
        y = pass.operate(Operator::BatchNorm, inputs, |[y, gamma, beta]| {
            normalised([&y, &gamma, &beta], l.bn, pass)
        })?;
        if l.relu {
            y = pass.operate(Operator::Relu, [&y], |[y]| relu(&y, pass))?;
        }
    }
    match clouds {
        None => Ok(y),
        Some(clouds) => pass.operate(Operator::Max, [&y], |[y]| max(&y, clouds, pass)),
    }
}

/// `forward` over the numbers of `x`, and `backward` over the gradients that come back.
///
/// # Errors
/// Another number type than f32, another device than the CPU.
pub fn each(
    x: &Tensor,
    pass: &Pass,
    forward: impl FnOnce(&mut [f32]),
    backward: impl Fn(&mut [f32]) + Send + Sync + 'static,
) -> Result<Tensor> {
    let mut y = read(x)?;
    forward(&mut y);
    pass.record(&[x], y, x.dims(), || {
        Box::new(move |mut g, _| {
            backward(&mut g);
            Ok(vec![Some(g)])
        })
    })
}

/// x·wᵀ. x `[rows, in]`, w `[out, in]` → `[rows, out]`.
fn product(x: &Tensor, w: &Tensor, pass: &Pass) -> Result<Tensor> {
    let ((rows, k), n) = (x.dims2()?, w.dim(0)?);
    let sizes = |rows, depth, columns| Sizes { rows, depth, columns };
    let (xc, wc) = (x.contiguous()?, w.contiguous()?);
    let y = matmul(
        sizes(rows, k, n),
        Matrix::dense(&Values::of(&xc)?, k),
        Matrix::dense(&Values::of(&wc)?, k).t(),
    );
    pass.record(&[x, w], y, &[rows, n], || {
        let (x, w) = (xc.detach(), wc.detach());
        Box::new(move |g, wanted| {
            let (x, w, g) = (Values::of(&x)?, Values::of(&w)?, Matrix::dense(&g, n));
            let dx = || matmul(sizes(rows, n, k), g, Matrix::dense(&w, k));
            let dw = || matmul(sizes(n, rows, k), g.t(), Matrix::dense(&x, k));
            Ok(vec![wanted[0].then(dx), wanted[1].then(dw)])
        })
    })
}

/// Batch norm by the batch's statistics. y `[rows, channels]`, γ and β `[channels]` → like y.
fn normalised([y, gamma, beta]: [&Tensor; 3], bn: &BatchNorm, pass: &Pass) -> Result<Tensor> {
    let (rows, n) = y.dims2()?;
    let mut xhat = read(y)?;
    let rstd = batch_norm(&mut xhat, rows, bn)?;
    let (scale, shift) = (read(gamma)?, read(beta)?);
    let mut output = xhat.clone();
    for row in output.chunks_exact_mut(n) {
        for c in 0..n {
            row[c] = row[c] * scale[c] + shift[c];
        }
    }
    pass.record(&[y, gamma, beta], output, &[rows, n], || {
        Box::new(move |mut g, _| {
            let m = rows as f64;
            let (mut dbeta, mut dgamma) = (vec![0.0_f64; n], vec![0.0_f64; n]);
            for (g, xhat) in g.chunks_exact(n).zip(xhat.chunks_exact(n)) {
                for c in 0..n {
                    dbeta[c] += f64::from(g[c]);
                    dgamma[c] += f64::from(g[c] * xhat[c]);
                }
            }
            for (g, xhat) in g.chunks_exact_mut(n).zip(xhat.chunks_exact(n)) {
                for c in 0..n {
                    let off = (dbeta[c] / m) as f32 + xhat[c] * (dgamma[c] / m) as f32;
                    g[c] = scale[c] * rstd[c] * (g[c] - off);
                }
            }
            let single = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
            Ok(vec![Some(g), Some(single(&dgamma)), Some(single(&dbeta))])
        })
    })
}

/// The slope at 0 is 0, and what is no number stays so.
fn relu(x: &Tensor, pass: &Pass) -> Result<Tensor> {
    let values = read(x)?;
    let y = values.iter().map(|&v| if v <= 0.0 { 0.0 } else { v }).collect();
    pass.record(&[x], y, x.dims(), || {
        Box::new(move |mut g, _| {
            let masked = g.iter_mut().zip(&values).filter(|(_, v)| **v <= 0.0);
            masked.for_each(|(g, _)| *g = 0.0);
            Ok(vec![Some(g)])
        })
    })
}

/// The greatest value of each channel over a cloud's points, the first of equals; what is no number is the greatest.
/// `[clouds × points, channels]` → `[clouds, channels]`.
fn max(x: &Tensor, clouds: usize, pass: &Pass) -> Result<Tensor> {
    let (rows, n) = x.dims2()?;
    let (points, values) = (rows / clouds, read(x)?);
    let cloud = |cloud: &[f32]| -> Vec<(u32, f32)> {
        let mut best: Vec<(u32, f32)> = cloud[..n].iter().map(|&v| (0, v)).collect();
        for (p, row) in cloud.chunks_exact(n).enumerate().skip(1) {
            for (best, &v) in best.iter_mut().zip(row) {
                if v > best.1 || (v.is_nan() && !best.1.is_nan()) {
                    *best = (p as u32, v);
                }
            }
        }
        best
    };
    let best: Vec<(u32, f32)> = values.par_chunks(points * n).flat_map_iter(cloud).collect();
    let y = best.iter().map(|b| b.1).collect();
    pass.record(&[x], y, &[clouds, n], || {
        Box::new(move |g, _| {
            let mut dx = vec![0.0; rows * n];
            for (i, (g, (p, _))) in g.iter().zip(&best).enumerate() {
                dx[(i / n * points + *p as usize) * n + i % n] = *g;
            }
            Ok(vec![Some(dx)])
        })
    })
}

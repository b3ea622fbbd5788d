//! Linear+BN+ReLU over few rows and many channels: the layers of a head, a row a cloud.
//! Over points `shared_mlp` does it.

use candle_core::{Device, Result, Tensor, bail};

use super::matmul::{Matrix, Sizes, matmul};
use super::shared_mlp::{MlpLayer, shared_mlp};
use super::values::{Values, fused};
use super::{BatchNorm, Pass, plain, separate};

/// Up to so many rows the channels are shared out among the threads, beyond it the rows.
const FEW: usize = 512;

/// `relu(bn(x·wᵀ))`, or without the ReLU. x `[rows, in]`, w `[out, in]` → `[rows, out]`.
///
/// # Errors
/// Shapes that do not fit, with what was expected; no rows.
pub fn linear_bn(x: &Tensor, w: &Tensor, bn: &BatchNorm, relu: bool, pass: &Pass) -> Result<Tensor> {
    let layer = MlpLayer { weight: w, bn, relu };
    let (gamma, beta) = (bn.gamma.as_tensor(), bn.beta.as_tensor());
    let inputs = [x, w, gamma, beta];
    if fused(pass, &inputs) && pass.is_lowered() && pass.train {
        return separate::layers(x, &[layer], None, pass);
    }
    if !fused(pass, &inputs) || pass.is_lowered() {
        return plain::linear_bn(x, w, bn, relu, pass);
    }
    if pass.synchronised() || x.dims().first().is_none_or(|&rows| rows > FEW) {
        return shared_mlp(x, &[layer], pass);
    }
    let (&[rows, k], &[n, wk]) = (x.dims(), w.dims()) else {
        bail!(
            "linear_bn: expected x [rows, in] and w [out, in], got {:?} and {:?}",
            x.dims(),
            w.dims()
        );
    };
    if rows == 0 || k == 0 || n == 0 || wk != k {
        bail!(
            "linear_bn: expected at least one row, and w [out, {k}], got x {:?} and w {:?}",
            x.dims(),
            w.dims()
        );
    }
    for (name, v) in [
        ("gamma", &bn.gamma),
        ("beta", &bn.beta),
        ("mean", &bn.mean),
        ("var", &bn.var),
    ] {
        if v.dims() != [n] {
            bail!(
                "linear_bn: expected batch norm's {name} of shape [{n}], got {:?}",
                v.dims()
            );
        }
    }
    let (xc, wc) = (x.contiguous()?, w.contiguous()?);
    let sizes = Sizes {
        rows,
        depth: k,
        columns: n,
    };
    let mut y = matmul(
        sizes,
        Matrix::dense(&Values::of(&xc)?, k),
        Matrix::dense(&Values::of(&wc)?, k).t(),
    );
    let rstd = if pass.train {
        batch_norm(&mut y, rows, bn)?
    } else {
        running_norm(&mut y, bn)?
    };
    let (gamma, beta) = (read(gamma)?, read(beta)?);
    let mut output = y.clone();
    for row in output.chunks_exact_mut(n) {
        for c in 0..n {
            let v = row[c] * gamma[c] + beta[c];
            row[c] = if relu && v < 0.0 { 0.0 } else { v };
        }
    }
    pass.record(&inputs, output, &[rows, n], || {
        let saved = Saved {
            x: xc.detach(),
            w: wc.detach(),
            xhat: y,
            gamma,
            beta,
            rstd,
            relu,
            sizes,
        };
        Box::new(move |g, wanted| saved.backward(g, wanted))
    })
}

pub(super) fn read(t: &Tensor) -> Result<Vec<f32>> {
    let t = t.contiguous()?;
    Ok(Values::of(&t)?.to_vec())
}

/// Turns y into x̂ by the batch's statistics, moves the running ones, and gives 1/σ.
pub(super) fn batch_norm(y: &mut [f32], rows: usize, bn: &BatchNorm) -> Result<Vec<f32>> {
    let n = y.len() / rows;
    let m = rows as f64;
    let mut mean = vec![0.0_f64; n];
    let mut var = vec![0.0_f64; n];
    for row in y.chunks_exact(n) {
        mean.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v));
    }
    mean.iter_mut().for_each(|s| *s /= m);
    for row in y.chunks_exact(n) {
        for ((s, &v), mean) in var.iter_mut().zip(row).zip(&mean) {
            *s += (f64::from(v) - mean).powi(2);
        }
    }
    var.iter_mut().for_each(|s| *s /= m);
    let rstd: Vec<f32> = var.iter().map(|v| (1.0 / (v + bn.eps).sqrt()) as f32).collect();
    for row in y.chunks_exact_mut(n) {
        for c in 0..n {
            row[c] = (row[c] - mean[c] as f32) * rstd[c];
        }
    }
    let unbiased = if rows > 1 { m / (m - 1.0) } else { 1.0 };
    let update = |running: &candle_core::Var, batch: &[f64], factor: f64| -> Result<()> {
        let old = read(running.as_tensor())?;
        let new = old.iter().zip(batch);
        let new = new.map(|(&r, &b)| (f64::from(r) * (1.0 - bn.momentum) + b * factor * bn.momentum) as f32);
        running.set(&Tensor::from_vec(new.collect::<Vec<f32>>(), n, &Device::Cpu)?)
    };
    update(&bn.mean, &mean, 1.0)?;
    update(&bn.var, &var, unbiased)?;
    Ok(rstd)
}

/// Turns y into x̂ by the running statistics, and gives 1/σ.
fn running_norm(y: &mut [f32], bn: &BatchNorm) -> Result<Vec<f32>> {
    let mean = read(bn.mean.as_tensor())?;
    let rstd: Vec<f32> = read(bn.var.as_tensor())?
        .iter()
        .map(|&v| (1.0 / (f64::from(v) + bn.eps).sqrt()) as f32)
        .collect();
    for row in y.chunks_exact_mut(rstd.len()) {
        for c in 0..rstd.len() {
            row[c] = (row[c] - mean[c]) * rstd[c];
        }
    }
    Ok(rstd)
}

struct Saved {
    x: Tensor,
    w: Tensor,
    xhat: Vec<f32>,
    gamma: Vec<f32>,
    beta: Vec<f32>,
    rstd: Vec<f32>,
    relu: bool,
    sizes: Sizes,
}

impl Saved {
    /// dβ = Σg, dγ = Σg·x̂, dy = γ/σ·(g − dβ/M − x̂·dγ/M), dW = dyᵀx, dx = dy·W; g masked by the ReLU.
    fn backward(&self, mut g: Vec<f32>, wanted: &[bool]) -> Result<Vec<Option<Vec<f32>>>> {
        let Sizes {
            rows,
            depth: k,
            columns: n,
        } = self.sizes;
        let m = rows as f64;
        let (mut dbeta, mut dgamma) = (vec![0.0_f64; n], vec![0.0_f64; n]);
        for (g, xhat) in g.chunks_exact_mut(n).zip(self.xhat.chunks_exact(n)) {
            for c in 0..n {
                if self.relu && xhat[c] * self.gamma[c] + self.beta[c] <= 0.0 {
                    g[c] = 0.0;
                }
                dbeta[c] += f64::from(g[c]);
                dgamma[c] += f64::from(g[c] * xhat[c]);
            }
        }
        for (g, xhat) in g.chunks_exact_mut(n).zip(self.xhat.chunks_exact(n)) {
            for c in 0..n {
                let off = (dbeta[c] / m) as f32 + xhat[c] * (dgamma[c] / m) as f32;
                g[c] = self.gamma[c] * self.rstd[c] * (g[c] - off);
            }
        }
        let (x, w) = (Values::of(&self.x)?, Values::of(&self.w)?);
        let dy = Matrix::dense(&g, n);
        let dx = || {
            matmul(
                Sizes {
                    rows,
                    depth: n,
                    columns: k,
                },
                dy,
                Matrix::dense(&w, k),
            )
        };
        let dw = || {
            matmul(
                Sizes {
                    rows: n,
                    depth: rows,
                    columns: k,
                },
                dy.t(),
                Matrix::dense(&x, k),
            )
        };
        let single = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        Ok(vec![
            wanted[0].then(dx),
            wanted[1].then(dw),
            Some(single(&dgamma)),
            Some(single(&dbeta)),
        ])
    }
}
